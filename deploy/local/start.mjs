// npm start [-- arguments of kubeherald]
import { runOnNode24, setUp } from './setup.mjs'

await setUp()
const MALLOC = {
  MALLOC_ARENA_MAX: '1',
  MALLOC_MMAP_THRESHOLD_: '1048576',
  MALLOC_TRIM_THRESHOLD_: '2097152',
}
process.exitCode = await runOnNode24(
  ['--max-semi-space-size=4', '--heap-growing-percent=100', 'src/main.ts', ...process.argv.slice(2)],
  { env: { ...process.env, ...MALLOC } },
)
