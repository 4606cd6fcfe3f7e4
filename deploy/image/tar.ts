export interface TarEntry {
  /** Without a slash at either end; the root is empty. */
  path: string
  type: 'file' | 'link' | 'folder' | 'device'
  mode: number
  uid: number
  gid: number
  /** Bytes. */
  size: number
  content?: Buffer
}

const BLOCK = 512
const TYPES: Record<string, TarEntry['type']> = {
  '0': 'file',
  '\0': 'file',
  '1': 'link',
  '2': 'link',
  '5': 'folder',
}

/** The entries of a tar archive (POSIX, GNU and pax names). */
export function entriesOf(archive: Buffer): TarEntry[] {
  const entries: TarEntry[] = []
  let longName: string | undefined
  for (let at = 0; at + BLOCK <= archive.length && archive[at] !== 0; ) {
    const header = archive.subarray(at, at + BLOCK)
    const type = String.fromCharCode(header[156] as number)
    const size = numberAt(header, 124, 12)
    const content = archive.subarray(at + BLOCK, at + BLOCK + size)
    at += BLOCK + Math.ceil(size / BLOCK) * BLOCK
    if (type === 'L') longName = textAt(content, 0, size)
    else if (type === 'x') longName = /(?:^|\n)\d+ path=(.*)\n/.exec(content.toString())?.[1] ?? longName
    else if (type !== 'g' && type !== 'K') {
      const path = nameOf(header, longName)
      entries.push({ path, type: TYPES[type] ?? 'device', ...ownerOf(header), size, content })
      longName = undefined
    }
  }
  return entries
}

function nameOf(header: Buffer, longName: string | undefined): string {
  const isPosix = header.subarray(257, 263).equals(Buffer.from('ustar\0'))
  const prefix = isPosix ? textAt(header, 345, 155) : ''
  const name = longName ?? (prefix ? `${prefix}/` : '') + textAt(header, 0, 100)
  return name.replace(/^\.?\//, '').replace(/\/$/, '')
}

function ownerOf(header: Buffer) {
  return { mode: numberAt(header, 100, 8), uid: numberAt(header, 108, 8), gid: numberAt(header, 116, 8) }
}

/** Octal; what does not fit is binary, with its first bit set. */
function numberAt(header: Buffer, offset: number, length: number): number {
  const field = header.subarray(offset, offset + length)
  if (((field[0] as number) & 0x80) === 0)
    return Number.parseInt(textAt(header, offset, length).trim() || '0', 8)
  return field.subarray(1).reduce((sum, byte) => sum * 256 + byte, 0)
}

function textAt(buffer: Buffer, offset: number, length: number): string {
  const field = buffer.subarray(offset, offset + length)
  const end = field.indexOf(0)
  return field.subarray(0, end === -1 ? length : end).toString()
}
