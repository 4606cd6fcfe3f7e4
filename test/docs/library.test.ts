import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type DemoCluster, startDemoCluster } from '../../src/demo/cluster.ts'
import { type Elsewhere, installElsewhere, ROOT } from '../packed.ts'
import { type Program, startProgram } from '../servers/process.ts'
import { waitFor } from '../wait-for.ts'

/** The examples of docs/library.md, in their order: each runs on the demo cluster, with the package as it ships. */
const EXAMPLES = [
  ...readFileSync(join(ROOT, 'docs/library.md'), 'utf8').matchAll(/```ts\n([\s\S]*?)```/g),
].map(([, code = '']) => code)
const NAMES = ['first', 'signal', 'typed', 'kinds', 'checkpoint', 'store', 'faults'] as const

let elsewhere: Elsewhere
let demo: DemoCluster
beforeAll(async () => {
  elsewhere = installElsewhere('@types/node', '@kubernetes/client-node')
  demo = await startDemoCluster({ random: Math.random, clock: Date })
  for (const [i, name] of NAMES.entries()) writeFileSync(join(elsewhere.folder, `${name}.mts`), EXAMPLES[i]!)
})
afterAll(async () => {
  await demo?.[Symbol.asyncDispose]()
  elsewhere?.[Symbol.dispose]()
})

function start(name: (typeof NAMES)[number]): Program {
  const env = { ...process.env, KUBECONFIG: demo.kubeconfig }
  return startProgram(process.execPath, [`${name}.mts`], { cwd: elsewhere.folder, env })
}

async function shows(program: Program, ...texts: RegExp[]): Promise<void> {
  const isDone = () => texts.every((text) => text.test(program.output()))
  await waitFor(() => isDone() || program.ended(), {
    timeoutMs: 60_000,
    what: () => `${texts}; ${program.output()}`,
  })
  for (const text of texts) expect(program.output()).toMatch(text)
}

test('the page has these examples, and their types are right', () => {
  expect(EXAMPLES).toHaveLength(NAMES.length)
  const compilerOptions = {
    ...{ module: 'nodenext', target: 'es2024', strict: true, noEmit: true, types: ['node'] },
    ...{ exactOptionalPropertyTypes: true, noPropertyAccessFromIndexSignature: true, skipLibCheck: true },
  }
  const files = NAMES.map((name) => `${name}.mts`)
  writeFileSync(join(elsewhere.folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files }))
  const compiler = join(ROOT, 'node_modules/typescript/bin/tsc')
  expect(elsewhere.node(elsewhere.folder, compiler, '-p', '.').output).toBe('')
})

test('the examples that follow the cluster print its changes', async () => {
  const programs = [start('first'), start('typed'), start('kinds')] as const
  await shows(programs[0], /^ADDED Pod shop\/\S+ \d+$/m, /^ADDED Deployment shop\/\S+ \d+$/m)
  await shows(programs[1], /^(ADDED|MODIFIED|DELETED) \S+ restarts: ?[\d ]*$/m)
  await shows(programs[2], /^ADDED pod \S+ in shop$/m)
  for (const program of programs) await program.end('SIGKILL')
})

test('the examples with a signal end cleanly, and with a checkpoint nothing is repeated', async () => {
  const signal = start('signal')
  const before = start('checkpoint')
  await shows(signal, /^what exists was processed$/m)
  await shows(before, /^ADDED \S+ \(in the meantime\)$/m)
  for (const program of [signal, before]) await program.end('SIGTERM')
  expect(signal.output()).toMatch(/\nended\n$/)
  expect([signal.exitCode(), before.exitCode()]).toEqual([0, 0])
  const after = start('checkpoint')
  await shows(after, /^\S/)
  await after.end('SIGTERM')
  const added = (text: string): string[] => text.match(/^ADDED .*$/gm) ?? []
  expect(added(after.output()).filter((line) => added(before.output()).includes(line))).toEqual([])
})

test('the examples that end by themselves do, with what the page has', async () => {
  const [store, faults] = [start('store'), start('faults')]
  await waitFor(() => store.ended() && faults.ended(), { what: () => store.output() + faults.output() })
  expect(store.output()).toMatch(/^saved true$/m)
  expect(faults.output()).toBe('unknown-kind the cluster has no kind "Podd": did you mean "Pod"?\n')
})
