// A complete competitor in C++17 (docs/protocol.md). The referee's JSON is flat, with a space after each colon.
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <numeric>
#include <vector>

using Words = std::vector<uint64_t>;
struct Case { Words x; size_t calls, steps; };

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

// What stands under a key of flat JSON, behind the quote or bracket that opens it; and as a whole number.
char* after(char* json, const std::string& key) {
    char* at = strstr(json, ('"' + key + "\": ").c_str()) + key.size() + 4;
    return at + strspn(at, "\"[");
}
uint64_t whole(char* json, const char* key, int base = 10) { return strtoull(after(json, key), nullptr, base); }

uint64_t number(uint64_t nonce, uint64_t index) {
    uint64_t x = nonce + (index + 1) * 0x9E3779B97F4A7C15;
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9;
    x = (x ^ x >> 27) * 0x94D049BB133111EB;
    return x ^ x >> 31;
}

double repeat(const Case& work, uint64_t nonce, uint64_t repetition, Words& y) {  // fills y, the call as its first axis
    double start = now();
    y.clear();
    for (size_t call = 0; call < work.calls; call++) {
        auto row = y.insert(y.end(), work.x.begin(), work.x.end());
        uint64_t n = number(nonce, repetition * work.calls + call) | 1;
        for (size_t step = 0; step < work.steps; step++)
            for (auto v = row; v != y.end(); v++) *v *= 2 * *v + n;
    }
    return now() - start;
}

void save(const std::string& folder, const Case& work, const Words& y) {
    std::filesystem::create_directories(folder);
    FILE* file = fopen((folder + "/y.npy").c_str(), "wb");
    fprintf(file, "\x93NUMPY\1%cv%c{'descr': '<u8', 'fortran_order': False, 'shape': ", 0, 0);
    fprintf(file, "(%30zu, %30zu), }\n", work.calls, work.x.size());
    fwrite(&y[0], 8, y.size(), file);
    fclose(file);
}

int main(int count, char** words) {
    std::map<std::string, std::string> given;
    std::map<std::string, Case> cases;
    Words y;
    for (int at = 1; at + 1 < count; at++) {
        char* next = words[at + 1];
        given[words[at]] = next;
        if (!strcmp(words[at], "--parameters"))
            cases[given["--case"]] = {Words(whole(next, "length")), whole(next, "calls"), whole(next, "steps")};
    }
    for (auto& [name, work] : cases)  // NumPy's header of so small an array has 128 bytes
        std::ifstream(given["--input"] + "/" + name + "/x.npy").ignore(128).read((char*)&work.x[0], work.x.size() * 8);
    puts("{\"event\": \"ready\"}");
    for (std::string line; fflush(stdout), getline(std::cin, line);) {
        double heard = now(), timed = 0;
        char *order = &line[0], *text = after(order, "case");
        std::string name(text, strcspn(text, "\""));
        const Case& work = cases.at(name);
        uint64_t nonce = whole(order, "nonce", 16);
        if (strstr(order, "\"event\": \"go\"")) {
            std::vector<double> seconds(whole(order, "repetitions"));
            printf("{\"event\": \"done\", \"case\": \"%s\", \"digests\": [", name.c_str());
            for (size_t at = 0; at < seconds.size(); at++) {
                timed += seconds[at] = repeat(work, nonce, whole(order, "first") + at, y);
                printf("%s\"%016lx\"", at ? ", " : "", accumulate(y.begin(), y.end(), 0UL));
            }
            printf("], \"metrics\": {\"seconds\": [");
            for (size_t at = 0; at < seconds.size(); at++) printf("%s%.9e", at ? ", " : "", seconds[at] / work.calls);
            printf("]}, \"counts\": {\"elements\": %zu}, ", work.x.size());
            printf("\"between_seconds\": %.9f}\n", now() - heard - timed);
            continue;
        }
        for (text = strchr(order, '['); *text != ']';) {
            uint64_t repetition = strtoull(text + 1, &text, 10);
            repeat(work, nonce, repetition, y);
            save(given["--output"] + "/" + name + "/" + std::to_string(repetition), work, y);
        }
        printf("{\"event\": \"written\", \"case\": \"%s\"}\n", name.c_str());
    }
}
