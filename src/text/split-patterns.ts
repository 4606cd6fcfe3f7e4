const PARTS = {
  ',': /\s*!?\/(?:\\.|[^\\/])*\/\s*(?=,|$)|[^,]+/g,
  '|': /\s*!?\/(?:\\.|[^\\/])*\/\s*(?=\||$)|[^|]+/g,
}

/** Splits a text at a separator into patterns, but no regular expression, which may contain it. */
export function splitPatterns(text: string, separator: keyof typeof PARTS): string[] {
  return text.match(PARTS[separator])?.map((it) => it.trim()) ?? [text]
}
