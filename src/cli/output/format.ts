import { Document, visit } from 'yaml'
import { isDeep, printable, printableJson, safeJson } from '../../text/printable.ts'

export type DataFormat = 'json' | 'yaml'

/** Options of commands that print data. */
export interface OutputOptions {
  /** `table` is readable text; the others are the same data for programs. */
  output: 'table' | DataFormat
}

/** Returns one value as an indented JSON text or a YAML document, safe on a terminal, with a newline at the end. */
export function dataText(value: unknown, format: DataFormat): string {
  return format === 'json' ? `${printableJson(value, 2)}\n` : printableYaml(value)
}

/** Returns one of several values: a line of JSON, or a YAML document that begins with `---`. */
export function recordText(value: unknown, format: DataFormat): string {
  return format === 'json' ? `${printableJson(value)}\n` : `---\n${printableYaml(value)}`
}

/** Texts that YAML 1.1 takes for other values are quoted; no text spans lines except as a literal block. */
const YAML = { lineWidth: 0, singleQuote: false, doubleQuotedMinMultiLineLength: 1e9 }

/** YAML of the same data that `printableJson` gives. Deeply nested data is one line of JSON, which is YAML too. */
function printableYaml(value: unknown): string {
  const json = printableJson(value)
  if (isDeep(json)) return `${json}\n`
  const document = new Document(JSON.parse(json), { compat: 'yaml-1.1', aliasDuplicateObjects: false })
  visit(document, {
    Scalar(_, node) {
      // Only double quotes can escape a character.
      if (typeof node.value === 'string' && safeJson(node.value) !== node.value) node.type = 'QUOTE_DOUBLE'
    },
  })
  return safeJson(document.toString(YAML))
}

/** Formats rows as aligned columns, the header first. Cells may have text from outside. */
export function table(cells: readonly (readonly string[])[]): string {
  const rows = cells.map((row) => row.map(printable))
  const widths = (rows[0] ?? []).map((_, column) =>
    rows.reduce((width, row) => Math.max(width, (row[column] ?? '').length), 0),
  )
  return rows
    .map(
      (row) =>
        row
          .map((cell, i) => cell.padEnd(widths[i] ?? 0))
          .join('  ')
          .trimEnd() + '\n',
    )
    .join('')
}
