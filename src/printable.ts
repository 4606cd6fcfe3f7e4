/** C0, DEL, C1, line separators and the marks that turn the direction of text: they move cursors, break lines, or make text look like another. */
const CONTROLS = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g

/** Text from elsewhere, safe on a terminal and on one line: each control character becomes a space. */
export function printable(text: string): string {
  return text.replace(CONTROLS, ' ')
}

/** JSON that is safe on a terminal: JSON.stringify escapes the C0 controls only. Parses to the same value. */
export function printableJson(value: unknown, indent = 0): string {
  return JSON.stringify(value, null, indent).replace(CONTROLS, (it) =>
    it === '\n' ? it : `\\u${it.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}
