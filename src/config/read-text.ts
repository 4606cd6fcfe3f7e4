/** How problems call a configuration that came through a pipe. */
export const STANDARD_INPUT = 'standard input'

/** Why bytes are no text, or the text, without the byte order mark that some editors put in front. */
export function textOf(bytes: Uint8Array): { text: string } | { fault: string } {
  const isUtf16 = (bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0xfe && bytes[1] === 0xff)
  if (isUtf16) return { fault: 'it is UTF-16: save it as UTF-8' }
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    return text.includes('\0') ? { fault: 'it is not text in UTF-8: it has zero bytes' } : { text }
  } catch {
    return { fault: 'it is not UTF-8: save it as UTF-8' }
  }
}

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  ENOTDIR: 'there is no such file',
  ENAMETOOLONG: 'there is no such file: the name is too long',
  EACCES: 'permission denied',
  EISDIR: 'it is a directory: name the file in it',
  ELOOP: 'its links lead in a circle',
  NO_PLAIN_FILE: 'it is not a plain file',
  FILE_TOO_LARGE: 'it is larger than 1 MiB',
}

/** Returns why a file could not be read. */
export function reasonOf(error: unknown): string {
  const { code = '', message } = error as NodeJS.ErrnoException
  return REASONS[code] ?? (code || message)
}
