let isQuietNow = false

/** Sets whether notes are hidden: `--quiet`. */
export function setQuiet(quiet: boolean): void {
  isQuietNow = quiet
}

export function isQuiet(): boolean {
  return isQuietNow
}

/** Writes a note, a hint or progress to stderr; nothing with `--quiet`. Warnings and errors are no notes. */
export function note(text: string): void {
  if (!isQuietNow) process.stderr.write(text)
}
