import { type KafkaRecord, varintSize, writeVarint } from './format.ts'
import { crc32c, type EncodedRequest } from './kafkajs.ts'

export interface ProduceRequest {
  topic: string
  partition: number
  /** How long the broker may wait for its replicas. */
  timeoutMs: number
  records: readonly KafkaRecord[]
  compression?: Compression | undefined
}

export interface Compression {
  /** Its number in the attributes of a batch. */
  readonly id: number
  compress(bytes: Buffer): Promise<Buffer>
}

const BATCH_HEADER = 61
/** Where the checksum's bytes begin. */
const CHECKED = 21
const MAGIC = 2
const ALL_REPLICAS = -1

/**
 * Encodes a Produce request, version 3 to 8, with one batch for one partition and no producer id. kafkajs' own
 * encoder allocates a buffer for each header of each record, which dominates the time of a delivery.
 */
export async function encodeProduce(request: ProduceRequest, nowMs: number): Promise<EncodedRequest> {
  const { topic, partition, timeoutMs, compression } = request
  const plain = encodeRecords(request.records)
  const records = compression ? await compression.compress(plain) : plain
  const name = Buffer.from(topic)
  const head = Buffer.allocUnsafe(2 + 2 + 4 + 4 + 2 + name.length + 4 + 4 + 4)
  let at = head.writeInt16BE(-1)
  at = head.writeInt16BE(ALL_REPLICAS, at)
  at = head.writeInt32BE(timeoutMs, at)
  at = head.writeInt32BE(1, at)
  at = head.writeInt16BE(name.length, at)
  at += name.copy(head, at)
  at = head.writeInt32BE(1, at)
  at = head.writeInt32BE(partition, at)
  head.writeInt32BE(BATCH_HEADER + records.length, at)
  const batch = batchOf(records, request.records.length, compression?.id ?? 0, nowMs)
  const buffer = Buffer.concat([head, ...batch])
  return { buf: buffer, buffer }
}

function batchOf(
  records: Buffer,
  count: number,
  attributes: number,
  nowMs: number,
): [head: Buffer, records: Buffer] {
  const head = Buffer.alloc(BATCH_HEADER)
  head.writeInt32BE(BATCH_HEADER - 12 + records.length, 8)
  head.writeInt32BE(-1, 12)
  head.writeInt8(MAGIC, 16)
  head.writeInt16BE(attributes, 21)
  head.writeInt32BE(count - 1, 23)
  head.writeBigInt64BE(BigInt(nowMs), 27)
  head.writeBigInt64BE(BigInt(nowMs), 35)
  // No idempotence: neither producer, nor epoch, nor sequence.
  head.fill(0xff, 43, 57)
  head.writeInt32BE(count, 57)
  head.writeUInt32BE(crc32c(Buffer.concat([head.subarray(CHECKED), records])), 17)
  return [head, records]
}

/** All of one time, so that no record has a difference to it. */
function encodeRecords(records: readonly KafkaRecord[]): Buffer {
  const buffer = Buffer.allocUnsafe(records.reduce((sum, it) => sum + it.bytes, 0))
  let at = 0
  for (const [i, { key, value, headers }] of records.entries()) {
    const size =
      2 + varintSize(i) + sizedField(key.length) + (value ? sizedField(value.length) : 1) + headers.length
    at = writeVarint(buffer, size, at)
    at = buffer.writeInt16BE(0, at)
    at = writeVarint(buffer, i, at)
    at = writeVarint(buffer, key.length, at)
    at += key.copy(buffer, at)
    at = writeVarint(buffer, value ? value.length : -1, at)
    if (value) at += value.copy(buffer, at)
    at += headers.copy(buffer, at)
  }
  return buffer.subarray(0, at)
}

function sizedField(length: number): number {
  return varintSize(length) + length
}
