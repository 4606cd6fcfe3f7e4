/** The replies of a pipeline or transaction; the first error among them is thrown. */
export function valuesOf(replies: [error: Error | null, result: unknown][] | null): unknown[] {
  return (replies ?? []).map(([error, result]) => {
    if (error) throw error
    return result
  })
}
