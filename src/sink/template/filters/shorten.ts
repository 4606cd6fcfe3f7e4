/** At most so many characters, the last one an ellipsis where something was left out. */
export function shorten(text: string, length: number): string {
  if (text.length <= length) return text
  const cut = text.slice(0, Math.max(length - 1, 0))
  const end = /[\ud800-\udbff]$/.test(cut) ? cut.length - 1 : cut.length
  return `${cut.slice(0, end).trimEnd()}…`
}
