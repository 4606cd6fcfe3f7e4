import type { Value } from '@bufbuild/cel-spec/cel/expr/value_pb.js'

/** A value of our engine as text that tells its type. */
export function canonical(value: unknown): string {
  if (value === null) return 'null'
  if (typeof value === 'bigint') return `int ${value}`
  if (typeof value === 'number') return `double ${Object.is(value, -0) ? 0 : value}`
  if (typeof value === 'string') return JSON.stringify(value)
  if (typeof value === 'boolean') return String(value)
  if (value instanceof Date) return `time ${value.getTime()}`
  if (value instanceof Uint8Array) return `bytes ${Buffer.from(value).toString('hex')}`
  if (value instanceof Map) return mapText([...value].map(([key, item]) => [canonical(key), canonical(item)]))
  if (Array.isArray(value)) return `[${value.map(canonical).join(', ')}]`
  const object = value as { seconds?: bigint; nanos?: number; value?: bigint; name?: string }
  if (typeof object.seconds === 'bigint') return `span ${object.seconds} ${object.nanos}`
  if (Object.getPrototypeOf(value) === Object.prototype)
    return mapText(Object.entries(object).map(([key, item]) => [canonical(key), canonical(item)]))
  if (typeof object.value === 'bigint') return `uint ${object.value}`
  if (/^Type</.test(String(value))) return `type ${object.name === 'null' ? 'null_type' : object.name}`
  return `other ${value}`
}

/** The same of a value of the suite. */
export function expected({ kind }: Value): string {
  switch (kind.case) {
    case 'int64Value':
      return `int ${kind.value}`
    case 'uint64Value':
      return `uint ${kind.value}`
    case 'nullValue':
      return 'null'
    case 'typeValue':
      return `type ${kind.value}`
    case 'listValue':
      return `[${kind.value.values.map(expected).join(', ')}]`
    case 'mapValue':
      return mapText(
        kind.value.entries.map(({ key, value }) => [expected(key as Value), expected(value as Value)]),
      )
    case 'objectValue':
      return messageText(kind.value)
    default:
      return canonical(kind.value)
  }
}

function mapText(entries: (readonly [string, string])[]): string {
  return `{${entries
    .map(([key, value]) => `${key}: ${value}`)
    .sort()
    .join(', ')}}`
}

/** Times and spans of time; other messages are none of our values. */
function messageText({ typeUrl, value }: { typeUrl: string; value: Uint8Array }): string {
  const [seconds, nanos] = fieldsOf(value)
  if (typeUrl.endsWith('.Timestamp')) return `time ${Number(seconds) * 1_000 + Math.floor(Number(nanos) / 1e6)}`
  if (typeUrl.endsWith('.Duration')) return `span ${seconds} ${nanos}`
  return `message ${typeUrl}`
}

/** Two numbers of a protobuf message: seconds and nanoseconds. */
function fieldsOf(bytes: Uint8Array): [bigint, bigint] {
  const fields: [bigint, bigint] = [0n, 0n]
  for (let at = 0; at < bytes.length; ) {
    const field = ((bytes[at++] ?? 0) >> 3) - 1
    let number = 0n
    for (let shift = 0n; ; shift += 7n) {
      const byte = BigInt(bytes[at++] ?? 0)
      number |= (byte & 127n) << shift
      if (byte < 128n) break
    }
    fields[field] = BigInt.asIntN(64, number)
  }
  return fields
}

/** A value of the suite as our engine takes it. */
export function bound({ kind }: Value): unknown {
  if (kind.case === 'listValue') return kind.value.values.map(bound)
  if (kind.case === 'mapValue')
    return new Map(kind.value.entries.map(({ key, value }) => [bound(key as Value), bound(value as Value)]))
  return kind.case === 'nullValue' ? null : kind.value
}
