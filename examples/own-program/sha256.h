/* SHA-256 (FIPS 180-4) of a message of at most 2^20 bytes. */
#include <stdint.h>
#include <string.h>

static inline uint32_t sha256_turn(uint32_t word, int by) { return word >> by | word << (32 - by); }

static void sha256_block(uint32_t state[8], const unsigned char *block) {
    static const uint32_t constants[64] = {
        0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
        0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
        0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
        0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
        0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
        0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
        0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
        0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};
    uint32_t w[64], s[8];
    for (int at = 0; at < 16; at++)
        w[at] = (uint32_t)block[4 * at] << 24 | block[4 * at + 1] << 16 | block[4 * at + 2] << 8 | block[4 * at + 3];
    for (int at = 16; at < 64; at++) {
        uint32_t a = sha256_turn(w[at - 15], 7) ^ sha256_turn(w[at - 15], 18) ^ w[at - 15] >> 3;
        uint32_t b = sha256_turn(w[at - 2], 17) ^ sha256_turn(w[at - 2], 19) ^ w[at - 2] >> 10;
        w[at] = w[at - 16] + a + w[at - 7] + b;
    }
    memcpy(s, state, sizeof s);
    for (int at = 0; at < 64; at++) {
        uint32_t e = sha256_turn(s[4], 6) ^ sha256_turn(s[4], 11) ^ sha256_turn(s[4], 25);
        uint32_t one = s[7] + e + ((s[4] & s[5]) ^ (~s[4] & s[6])) + constants[at] + w[at];
        uint32_t a = sha256_turn(s[0], 2) ^ sha256_turn(s[0], 13) ^ sha256_turn(s[0], 22);
        uint32_t two = a + ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));
        memmove(s + 1, s, 7 * sizeof *s);
        s[4] += one;
        s[0] = one + two;
    }
    for (int at = 0; at < 8; at++) state[at] += s[at];
}

/* The first sixteen hexadecimal digits of the hash, and a zero. */
static void sha256_digits(const unsigned char *message, size_t length, char digits[17]) {
    uint32_t state[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    unsigned char last[128] = {0};
    size_t whole = length / 64 * 64, rest = length - whole, ends = rest < 56 ? 64 : 128;
    for (size_t at = 0; at < whole; at += 64) sha256_block(state, message + at);
    memcpy(last, message + whole, rest);
    last[rest] = 0x80;
    for (int byte = 0; byte < 8; byte++) last[ends - 1 - byte] = (uint64_t)length * 8 >> 8 * byte;
    for (size_t at = 0; at < ends; at += 64) sha256_block(state, last + at);
    snprintf(digits, 17, "%08x%08x", state[0], state[1]);
}
