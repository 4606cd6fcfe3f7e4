// Runs Go in one of the modules that name the tools of the tests.
import { runProgram } from './program.mjs'

/** Gives what it printed; throws with the last lines that Go said. */
export async function go(module, args) {
  const env = { ...process.env, CGO_ENABLED: '0', GOFLAGS: '-mod=readonly', GOWORK: 'off' }
  const options = { cwd: module, env, stdio: ['ignore', 'pipe', 'pipe'] }
  let output = ''
  let errors = ''
  const { code } = await runProgram('go', args, options, (child) => {
    child.stdout.on('data', (chunk) => {
      output += chunk
    })
    child.stderr.on('data', (chunk) => {
      errors = (errors + chunk).slice(-2_000)
    })
  })
  if (code === 0) return output
  const last = errors
    .trim()
    .split('\n')
    .filter((line) => !line.startsWith('go: downloading'))
    .slice(-3)
    .join(' | ')
  throw new Error(`go ${args[0]} failed: ${last || 'is the Go module proxy reachable?'}`)
}
