/** C0, DEL, C1, line separators and the marks that turn the direction of text: they move cursors, break lines, or make text look like another. */
const CONTROLS = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g

/** Text from elsewhere, safe on a terminal and on one line: each control character becomes a space. */
export function printable(text: string): string {
  return text.replace(CONTROLS, ' ')
}

/** Blanks of deeper levels would be more than the value. */
const MAX_INDENTED_DEPTH = 100

/** JSON that is safe on a terminal. */
export function printableJson(value: unknown, indent = 0): string {
  const compact = JSON.stringify(value)
  const isIndented = indent > 0 && !isDeep(compact)
  return safeJson(isIndented ? JSON.stringify(value, null, indent) : compact)
}

/** JSON of which no text moves a cursor: JSON.stringify escapes the C0 controls only. It parses to the same value. */
export function safeJson(json: string): string {
  return json.replace(CONTROLS, (it) =>
    it === '\n' ? it : `\\u${it.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

/** Whether a JSON text has so many levels that it is better not indented. */
export function isDeep(json: string): boolean {
  let depth = 0
  for (const [token] of json.matchAll(/"(?:[^"\\]|\\.)*"?|[{}[\]]/g)) {
    if (token === '{' || token === '[') depth++
    else if (token === '}' || token === ']') depth--
    if (depth > MAX_INDENTED_DEPTH) return true
  }
  return false
}
