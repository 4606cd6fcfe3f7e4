/** What logs, status and dead letters keep of a detail. */
const MAX_DETAIL_BYTES = 2_048

/** As much of a text as a detail may have; no character is cut in half. */
export function detailOf(text: string): string {
  if (text.length * 3 <= MAX_DETAIL_BYTES) return text
  const bytes = Buffer.from(text)
  if (bytes.length <= MAX_DETAIL_BYTES) return text
  let end = MAX_DETAIL_BYTES
  while (((bytes[end] as number) & 0xc0) === 0x80) end--
  return bytes.toString('utf8', 0, end)
}
