import { createRequire } from 'node:module'
import { promisify } from 'node:util'
import { constants, gzip, zstdCompress } from 'node:zlib'
import type { KafkaConfig } from './config.ts'
import { CompressionCodecs, CompressionTypes } from './kafkajs.ts'

/** A smaller batch is sent as it is: compressing costs more than it saves. */
const MIN_BYTES = 1_024
const GZIP_LEVEL = 4
const ZSTD_LEVEL = 3

const gzipped = promisify(gzip)
const zstandard = promisify(zstdCompress)

type Codec = () => { compress(encoder: { buffer: Buffer }): Promise<Buffer> }

const { None, GZIP, LZ4, ZSTD } = CompressionTypes
const known = CompressionCodecs as unknown as Record<number, Codec>

/** Gives the codec of a batch by its size, uncompressed. Throws when the codec's package is not installed. */
export function chooseCompression(name: KafkaConfig['compression']): (bytes: number) => number {
  if (name === 'none') return () => None
  const [type, compress] = codecs[name]()
  known[type] = () => ({ compress: ({ buffer }) => compress(buffer) })
  return (bytes) => (bytes < MIN_BYTES ? None : type)
}

type Compress = (bytes: Buffer) => Promise<Buffer>

const codecs: Record<Exclude<KafkaConfig['compression'], 'none'>, () => [type: number, Compress]> = {
  gzip: () => [GZIP, (bytes) => gzipped(bytes, { level: GZIP_LEVEL })],
  zstd: () => [
    ZSTD,
    (bytes) => zstandard(bytes, { params: { [constants.ZSTD_c_compressionLevel]: ZSTD_LEVEL } }),
  ],
  lz4: () => [LZ4, lz4Frame()],
}

/** A package with native code, which most do not need. */
function lz4Frame(): Compress {
  try {
    const { compressFrame } = createRequire(import.meta.url)('lz4-napi') as { compressFrame: Compress }
    return compressFrame
  } catch (cause) {
    throw new Error(
      'compression: lz4 needs the package lz4-napi, which is not installed: npm install lz4-napi, or choose zstd',
      { cause },
    )
  }
}
