import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'

const OUTPUT_MS = 2_000

/** A program that a test started; it dies with the test's process. */
export interface Program {
  readonly pid: number
  /** The end of what it printed. */
  output(): string
  /** True once it has ended. */
  ended(): boolean
  /** After its end; null when a signal ended it. */
  exitCode(): number | null
  /** Sends a signal and waits for its end, and for the rest of its output. */
  end(signal: NodeJS.Signals): Promise<void>
}

export function startProgram(command: string, args: readonly string[], options: SpawnOptions = {}): Program {
  const child: ChildProcess = spawn(command, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] })
  const dieToo = () => void child.kill('SIGKILL')
  process.on('exit', dieToo)
  child.on('exit', () => process.off('exit', dieToo))
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (chunk) => {
      output = (output + chunk).slice(-20_000)
    })
  }
  const ended = () => child.exitCode !== null || child.signalCode !== null
  return {
    pid: child.pid ?? -1,
    output: () => output,
    ended,
    exitCode: () => child.exitCode,
    async end(signal) {
      if (ended()) return
      const gone = once(child, 'exit')
      const read = once(child, 'close')
      child.kill(signal)
      await gone
      // What it started may hold its output open.
      await Promise.race([read, pause(OUTPUT_MS, undefined, { ref: false })])
    },
  }
}
