/** One file of a configuration, as offsets into it are turned into lines and columns. */
export interface SourceFile {
  /** As problems call it. */
  name: string
  text: string
  /** Where each line begins. */
  lineStarts: readonly number[]
}

export function sourceFile(name: string, text: string): SourceFile {
  const lineStarts = [0]
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) lineStarts.push(at + 1)
  return { name, text, lineStarts }
}

/** Counted from 1. */
export function lineAt({ lineStarts }: SourceFile, offset: number): number {
  let [low, high] = [0, lineStarts.length]
  while (high - low > 1) {
    const middle = (low + high) >> 1
    if ((lineStarts[middle] ?? 0) <= offset) low = middle
    else high = middle
  }
  return low + 1
}

/** Counted from 1. */
export function columnAt(file: SourceFile, offset: number): number {
  return offset - (file.lineStarts[lineAt(file, offset) - 1] ?? 0) + 1
}
