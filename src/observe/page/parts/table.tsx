import type { ComponentChildren } from 'preact'

export interface Column<T> {
  title: string
  cell: (row: T) => ComponentChildren
  isNumber?: boolean
}

/** A table; on a narrow screen each row is a card with the titles of the columns. */
export function Table<T>({
  label,
  rows,
  columns,
  rowKey,
  below,
  rowClass,
}: {
  label: string
  rows: readonly T[]
  columns: readonly Column<T>[]
  rowKey: (row: T) => string
  /** What a row shows below it, over all columns. */
  below?: (row: T) => ComponentChildren
  rowClass?: (row: T) => string
}) {
  return (
    <table aria-label={label}>
      <thead>
        <tr>
          {columns.map(({ title, isNumber }) => (
            <th key={title} scope="col" class={isNumber ? 'number' : ''}>
              {title}
            </th>
          ))}
        </tr>
      </thead>
      {rows.map((row) => {
        const more = below?.(row)
        return (
          <tbody key={rowKey(row)} class={rowClass?.(row) ?? ''}>
            <tr>
              {columns.map(({ title, cell, isNumber }) => (
                <td key={title} data-label={title} class={isNumber ? 'number' : ''}>
                  {cell(row)}
                </td>
              ))}
            </tr>
            {more && (
              <tr class="below">
                <td colSpan={columns.length}>{more}</td>
              </tr>
            )}
          </tbody>
        )
      })}
    </table>
  )
}
