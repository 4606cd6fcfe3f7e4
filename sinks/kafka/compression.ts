import { createRequire } from 'node:module'
import { promisify } from 'node:util'
import { constants, gzip, zstdCompress } from 'node:zlib'
import type { KafkaConfig } from './config.ts'
import { CompressionTypes } from './kafkajs.ts'
import type { Compression } from './produce-request.ts'

/** A smaller batch is sent as it is: compressing costs more than it saves. */
const MIN_BYTES = 1_024
const GZIP_LEVEL = 4
const ZSTD_LEVEL = 3

const gzipped = promisify(gzip)
const zstandard = promisify(zstdCompress)

/** Gives the codec of a batch by its size, uncompressed. Throws when the codec's package is not installed. */
export function chooseCompression(
  name: KafkaConfig['compression'],
): (bytes: number) => Compression | undefined {
  if (name === 'none') return () => undefined
  const codec = codecs[name]()
  return (bytes) => (bytes < MIN_BYTES ? undefined : codec)
}

const { GZIP, LZ4, ZSTD } = CompressionTypes
const level = { [constants.ZSTD_c_compressionLevel]: ZSTD_LEVEL }

const codecs: Record<Exclude<KafkaConfig['compression'], 'none'>, () => Compression> = {
  gzip: () => ({ id: GZIP, compress: (bytes) => gzipped(bytes, { level: GZIP_LEVEL }) }),
  zstd: () => ({ id: ZSTD, compress: (bytes) => zstandard(bytes, { params: level }) }),
  lz4: () => ({ id: LZ4, compress: lz4Frame() }),
}

/** A package with native code, which most do not need. */
function lz4Frame(): Compression['compress'] {
  try {
    const { compressFrame } = createRequire(import.meta.url)('lz4-napi') as {
      compressFrame: Compression['compress']
    }
    return compressFrame
  } catch (cause) {
    throw new Error(
      'compression: lz4 needs the package lz4-napi, which is not installed: npm install lz4-napi, or choose zstd',
      { cause },
    )
  }
}
