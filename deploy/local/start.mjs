// npm start [-- arguments of kubeherald]
import { runOnNode24, setUp } from './setup.mjs'

await setUp()
process.exitCode = await runOnNode24([
  '--max-semi-space-size=4',
  '--heap-growing-percent=100',
  'src/main.ts',
  ...process.argv.slice(2),
])
