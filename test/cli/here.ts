import { join } from 'node:path'
import { vi } from 'vitest'
import { runCommandLine } from '../../src/cli/command-line.ts'
import type { Desk, Result } from './cli.ts'

/** Runs kubeherald in this process, at a desk: for commands that end by themselves and start nothing. */
export async function runHere(desk: Desk, ...args: string[]): Promise<Result> {
  const [stdout, stderr] = [listen(process.stdout), listen(process.stderr)]
  const { env, cwd } = { env: process.env, cwd: process.cwd() }
  process.env = { ...desk.env }
  process.chdir(join(desk.dir, 'work'))
  try {
    const code = await runCommandLine(args)
    return { code, stdout: stdout.text(), stderr: stderr.text() }
  } finally {
    process.chdir(cwd)
    process.env = env
    stdout.stop()
    stderr.stop()
  }
}

function listen(stream: NodeJS.WriteStream): { text(): string; stop(): void } {
  let text = ''
  const spy = vi.spyOn(stream, 'write').mockImplementation((chunk) => {
    text += chunk
    return true
  })
  return { text: () => text, stop: () => spy.mockRestore() }
}
