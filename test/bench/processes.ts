import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'

const here = (file: string) => new URL(file, import.meta.url).pathname

/** Runs a file of this folder; gives the JSON of its last line. */
export async function measure(file: string, ...args: string[]): Promise<any> {
  const child = spawn(process.execPath, [here(file), ...args], { stdio: ['ignore', 'pipe', 'inherit'] })
  let output = ''
  child.stdout.on('data', (chunk) => {
    output += chunk
  })
  await once(child, 'close')
  const line = output.trim().split('\n').at(-1) ?? ''
  if (!line.startsWith('{')) throw new Error(`${file} measured nothing: ${output}`)
  return JSON.parse(line)
}

/** Starts a server of this folder that prints its port. */
export async function serve(
  file: string,
  ...args: string[]
): Promise<AsyncDisposable & { url: string; child: ChildProcess }> {
  const child = spawn(process.execPath, [here(file), ...args], {
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  })
  const [port] = (await once(createInterface({ input: child.stdout as NodeJS.ReadableStream }), 'line')) as [
    string,
  ]
  return {
    url: `http://127.0.0.1:${port}`,
    child,
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL')
    },
  }
}
