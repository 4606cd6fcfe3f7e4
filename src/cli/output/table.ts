import { printable } from '../../text/printable.ts'

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
