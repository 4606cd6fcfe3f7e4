import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
// @ts-expect-error a script without types
import { MALLOC, NODE_FLAGS } from '../../deploy/build/node-flags.mjs'

const MEASURE_LIMIT_MS = 180_000

const here = (file: string) => new URL(file, import.meta.url).pathname

export type Measured = { seconds: number; cpu?: number }
/** Seconds from the opening of the watch to the end, those of the processor in them, and the peak of resident memory. */
export type MeasuredLine = Required<Measured> & { peakMb: number }

/** Runs a yardstick of this folder, which prints JSON at its end; gives that. Its yardstick of time is its own. */
export function measure(file: string, ...args: string[]): Promise<Measured> {
  return outputOf([here(file), ...args], process.env)
}

/**
 * The same for the whole line, with the settings that kubeherald ships with. One that serves the API begins when `served` resolves, which
 * is called with the address.
 */
export async function measureLine(
  args: readonly string[],
  served?: (url: string) => Promise<void>,
): Promise<MeasuredLine> {
  const env = { ...process.env, ...MALLOC }
  const all = [...NODE_FLAGS, here('./line.ts'), ...args]
  return (await outputOf(all, env, served)) as MeasuredLine
}

async function outputOf(
  args: string[],
  env: NodeJS.ProcessEnv,
  served?: (url: string) => Promise<void>,
): Promise<Measured> {
  const child = spawn(process.execPath, args, {
    env,
    stdio: ['ignore', 'pipe', 'inherit', ...(served ? (['ipc'] as const) : [])],
    timeout: MEASURE_LIMIT_MS,
    killSignal: 'SIGKILL',
  })
  const release = dieWithUs(child)
  child.once('message', ({ url }: { url: string }) => {
    served?.(url).then(
      () => child.send('begin'),
      (error) => {
        console.error(error)
        child.kill('SIGKILL')
      },
    )
  })
  let output = ''
  child.stdout?.on('data', (chunk) => {
    output += chunk
  })
  await once(child, 'close')
  release()
  const line = output.trim().split('\n').at(-1) ?? ''
  if (!line.startsWith('{'))
    throw new Error(`${args.join(' ')} measured nothing in ${MEASURE_LIMIT_MS} ms: ${output}`)
  return JSON.parse(line)
}

export interface Server extends AsyncDisposable {
  url: string
  child: ChildProcess
}

/** Starts a server of this folder that prints its port. */
export async function serve(file: string, ...args: string[]): Promise<Server> {
  const child = spawn(process.execPath, [here(file), ...args], {
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  })
  const lines = createInterface({ input: child.stdout as NodeJS.ReadableStream })
  const [port] = (await once(lines, 'line')) as [string]
  return { url: `http://127.0.0.1:${port}`, child, [Symbol.asyncDispose]: () => end(child) }
}

/** SIGKILL, and wait until it is gone. */
export async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const gone = once(child, 'exit')
  child.kill('SIGKILL')
  await gone
}

/** Without a channel to us it would outlive us. */
export function dieWithUs(child: ChildProcess): () => void {
  const kill = () => void child.kill('SIGKILL')
  process.on('exit', kill)
  return () => process.off('exit', kill)
}
