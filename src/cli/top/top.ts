import { setTimeout as pause } from 'node:timers/promises'
import { readStatus, type StatusReport } from '../../store/ledger.ts'
import { friendlyError } from '../../text/friendly-errors.ts'
import { createPaint, outputPaint } from '../output/colour.ts'
import { type OutputOptions, recordText } from '../output/format.ts'
import { type OpenQueue, openQueue, type QueueOptions } from '../queue/open-queue.ts'
import { firstSignal, outputClosed } from '../signals.ts'
import { durationOf } from '../usage-error.ts'
import { figuresOf, type TopFigures } from './figures.ts'
import { layOut } from './layout.ts'

interface TopOptions extends QueueOptions, OutputOptions {
  interval: string
  count?: number
}

/** Shows the figures of `status` with rates, again and again: in place on a terminal, else one after the other. */
export async function top(options: TopOptions): Promise<number> {
  const intervalMs = durationOf('--interval', options.interval)
  const ended = new AbortController()
  const end = () => ended.abort()
  void firstSignal(['SIGINT', 'SIGTERM', 'SIGHUP']).then(end)
  void outputClosed(() => true).then(end)
  await using queue = await openQueue({ ...options, onlyRunning: true })
  const { stdout, stdin } = process
  const isScreen = options.output === 'table' && stdout.isTTY === true && process.env['TERM'] !== 'dumb'
  using screen = isScreen ? openScreen({ output: stdout, input: stdin }, end) : undefined
  const paint = isScreen ? outputPaint() : createPaint(false)
  let shown: TopFigures | undefined
  let trouble: string | undefined

  function draw(): void {
    if (!screen) return
    const size = { columns: stdout.columns || 80, rows: stdout.rows || 24 }
    const footer = trouble ?? `q quits; every ${options.interval}`
    if (shown) screen.draw(layOut(shown, { cluster: queue.cluster, size, paint, footer }))
    else screen.draw([footer])
  }

  stdout.on('resize', draw)
  try {
    let before: StatusReport | undefined
    for (let count = 1; !ended.signal.aborted; count++) {
      const report = await reportOf(queue, ended.signal)
      if (ended.signal.aborted) break
      trouble = 'trouble' in report ? report.trouble : undefined
      if ('report' in report) {
        shown = figuresOf(report.report, before)
        before = report.report
        if (!screen) print(shown, queue.cluster, options)
      } else if (!screen) process.stderr.write(`warning: ${report.trouble}\n`)
      draw()
      if (count === options.count) break
      await pause(intervalMs, undefined, { signal: ended.signal }).catch(() => {})
    }
  } finally {
    stdout.off('resize', draw)
  }
  return 0
}

function print(figures: TopFigures, cluster: string, { output }: OutputOptions): void {
  process.stdout.write(
    output === 'table'
      ? `${layOut(figures, { cluster, size: undefined, paint: createPaint(false) }).join('\n')}\n\n`
      : recordText(figures, output),
  )
}

/** A connection of a command ends with the first fault. */
async function readAgain(redis: OpenQueue['redis'], keys: OpenQueue['keys']): Promise<StatusReport> {
  if (redis.status === 'end') await redis.connect()
  return readStatus(redis, keys, { verify: false, now: Date.now() })
}

const PATIENCE_MS = 5_000

/** Redis may be away for a while: then the last figures stay, and the reason is shown. */
async function reportOf(
  { redis, keys }: OpenQueue,
  signal: AbortSignal,
): Promise<{ report: StatusReport } | { trouble: string }> {
  const late = new AbortController()
  const tooLate = pause(PATIENCE_MS, undefined, { signal: AbortSignal.any([signal, late.signal]) }).then(
    () => ({ trouble: `Redis does not answer; these figures are older` }),
    () => ({ trouble: 'ended' }),
  )
  try {
    const read = readAgain(redis, keys).then((report) => ({ report }))
    // It may fail when nobody waits for it any more.
    read.catch(() => {})
    return await Promise.race([read, tooLate])
  } catch (error) {
    return { trouble: `Redis cannot be read: ${friendlyError((error as Error).message)}` }
  } finally {
    late.abort()
  }
}

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
interface Screen extends Disposable {
  draw(lines: readonly string[]): void
}

function openScreen({ output, input }: Terminal, onQuit: () => void): Screen {
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
