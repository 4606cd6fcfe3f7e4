// npm start [-- arguments of kubeherald]
import { MALLOC, NODE_FLAGS } from '../build/node-flags.mjs'
import { runOnNode24, setUp } from './setup.mjs'

await setUp()
process.exitCode = await runOnNode24([...NODE_FLAGS, 'src/main.ts', ...process.argv.slice(2)], {
  env: { ...process.env, ...MALLOC },
})
