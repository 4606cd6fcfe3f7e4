import type { CelFunction } from './function.ts'

const TIME = 'google.protobuf.Timestamp'
const SPAN = 'google.protobuf.Duration'

/** Conversions that the library has not. */
export const conversionFunctions: readonly CelFunction[] = [
  { signature: 'int(uint): int', call: (value: { value: bigint }) => value.value },
  { signature: `int(${TIME}): int`, call: (time: Date) => BigInt(Math.floor(time.getTime() / 1_000)) },
  { signature: `string(${TIME}): string`, call: timeText },
  { signature: `string(${SPAN}): string`, call: (span: object) => String(span) },
  { signature: `timestamp(${TIME}): ${TIME}`, call: (time: Date) => time },
  { signature: `duration(${SPAN}): ${SPAN}`, call: (span: object) => span },
]

/** RFC 3339, without a fraction that is zero. */
function timeText(time: Date): string {
  return time.toISOString().replace(/\.?(?<!0)0*Z$/, 'Z')
}
