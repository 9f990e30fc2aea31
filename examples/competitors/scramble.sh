#!/usr/bin/env bash
# A complete competitor in bash and od (docs/protocol.md). Bash computes with signed words of 64 bits, which wrap.
LC_ALL=C
declare -A x parameters

# Sets the variable $1 to what the flat JSON $2 holds under that key, without quotes or brackets.
key() { [[ $2 =~ \"$1\":\ [\"[]?([^]\"}]*) ]] && printf -v "$1" %s "${BASH_REMATCH[1]%, }"; }

# Sets n to the number of call $1. A shift brings copies of the sign in, which the masks take away.
number() {
  (( n = nonce + ($1 + 1) * 0x9E3779B97F4A7C15, n = (n ^ n >> 30 & 0x3FFFFFFFF) * 0xBF58476D1CE4E5B9 ))
  (( n = (n ^ n >> 27 & 0x1FFFFFFFFF) * 0x94D049BB133111EB, n ^= n >> 31 & 0x1FFFFFFFF ))
}

# Sets y to the outputs of repetition $1, and spent to its microseconds. All steps are one expression.
repeat() {
  local call n v all start=${EPOCHREALTIME/./}
  printf -v all %${steps}s ''
  all=${all// /, v *= 2 * v + n}
  y=()
  for (( call = 0; call < calls; call++ )); do
    number $(( $1 * calls + call ))
    (( n |= 1 ))
    for v in ${x[$case]}; do (( v = v $all )); y+=("$v"); done
  done
  spent=$(( ${EPOCHREALTIME/./} - start ))
}

for word; do
  case $option in
    --parameters) parameters[$case]=$word ;;
    --case | --input | --output) printf -v "${option#--}" %s "$word" ;;
  esac
  option=$word
done
for case in "${!parameters[@]}"; do x[$case]=$(od -An -v -t u8 -j 128 "$input/$case/x.npy"); done
echo '{"event": "ready"}'
while read -r line; do
  heard=${EPOCHREALTIME/./} timed=0 seconds='' digests=''
  for name in event case nonce first repetitions; do key $name "$line"; done
  for name in calls length steps; do key $name "${parameters[$case]}"; done
  nonce=$(( 16#$nonce ))
  if [[ $event == go ]]; then
    for (( repetition = first; repetition < first + repetitions; repetition++ )); do
      repeat $repetition
      sum=0
      for v in "${y[@]}"; do (( sum += v )); done
      printf -v digests '%s, "%016x"' "$digests" $sum
      seconds+=", $(( spent * 1000 / calls ))e-9" timed=$(( timed + spent ))
    done
    printf '{"event": "done", "case": "%s", "metrics": {"seconds": [%s]}, ' "$case" "${seconds:2}"
    printf '"digests": [%s], "counts": {"elements": %s}, ' "${digests:2}" "$length"
    printf '"between_seconds": %de-6}\n' $(( ${EPOCHREALTIME/./} - heard - timed ))
    continue
  fi
  for repetition in ${repetitions//,/}; do
    repeat $repetition
    mkdir -p "$output/$case/$repetition"
    {
      printf '\x93NUMPY\x01\x00v\x00%-117s\n' "{'descr': '<u8', 'fortran_order': False, 'shape': ($calls, $length), }"
      for v in "${y[@]}"; do
        printf -v bytes '\\x%x' $(( v & 255 )) $(( v >> 8 & 255 )) $(( v >> 16 & 255 )) $(( v >> 24 & 255 )) \
          $(( v >> 32 & 255 )) $(( v >> 40 & 255 )) $(( v >> 48 & 255 )) $(( v >> 56 & 255 ))
        printf %b "$bytes"
      done
    } > "$output/$case/$repetition/y.npy"
  done
  printf '{"event": "written", "case": "%s"}\n' "$case"
done
