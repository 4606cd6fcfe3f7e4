/** The part of a terminal that a full screen needs. */
interface Terminal {
  output: Pick<NodeJS.WriteStream, 'write' | 'columns' | 'rows'>
  input: Pick<NodeJS.ReadStream, 'isTTY' | 'on' | 'off' | 'pause' | 'resume' | 'setRawMode'>
}

/** Alternate screen, no cursor, no line breaks of its own; and back. */
const ENTER = '\u001b[?1049h\u001b[?25l\u001b[?7l\u001b[H\u001b[2J'
const LEAVE = '\u001b[?7h\u001b[?25h\u001b[?1049l'
const HOME = '\u001b[H'
const END_OF_LINE = '\u001b[K'
const END_OF_SCREEN = '\u001b[J'
/** Terminals that know it show a frame as a whole. */
const BEGIN_FRAME = '\u001b[?2026h'
const END_FRAME = '\u001b[?2026l'

/** `q`, Ctrl-C, Ctrl-D. */
const QUIT = /[qQ\u0003\u0004]/

/** A full screen that is drawn in place. Whatever ends it, the terminal is as it was. */
export interface Screen extends Disposable {
  draw(lines: readonly string[]): void
}

export function openScreen({ output, input }: Terminal, onQuit: () => void): Screen {
  const onData = (data: Buffer) => {
    if (QUIT.test(data.toString('latin1'))) onQuit()
  }
  let isOpen = true
  const restore = () => {
    if (!isOpen) return
    isOpen = false
    output.write(LEAVE)
    if (!input.isTTY) return
    input.off('data', onData)
    input.setRawMode(false)
    input.pause()
  }
  if (input.isTTY) {
    input.setRawMode(true)
    input.on('data', onData)
    input.resume()
  }
  process.once('exit', restore)
  output.write(ENTER)
  return {
    draw(lines) {
      if (!isOpen) return
      const frame = lines.map((line) => `${line}${END_OF_LINE}`).join('\r\n')
      output.write(`${BEGIN_FRAME}${HOME}${frame}${END_OF_SCREEN}${END_FRAME}`)
    },
    [Symbol.dispose]() {
      process.off('exit', restore)
      restore()
    },
  }
}
