import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'libsql'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openDesk } from './cli/cli.ts'
import { type Elsewhere, installElsewhere, ROOT } from './packed.ts'
import { waitFor } from './wait-for.ts'

let elsewhere: Elsewhere
beforeAll(() => {
  elsewhere = installElsewhere('@types/node', 'libsql')
})
afterAll(() => elsewhere?.[Symbol.dispose]())

const PAGE = 'docs/examples/sink-sqlite/README.md'
const EXAMPLES = readdirSync(join(ROOT, 'docs/examples')).filter((name) => name.startsWith('sink-'))

test.each(EXAMPLES)('the tests of docs/examples/%s pass on the package as it ships', (name) => {
  const folder = elsewhere.copy(`docs/examples/${name}`)
  const { status, output } = elsewhere.node(folder, '--test', '--test-reporter=spec')
  expect(output).toMatch(/tests \d{2,}/)
  expect({ status, output: status === 0 ? '' : output }).toEqual({ status: 0, output: '' })
})

test('the examples, and a plug-in in TypeScript, find the types of the contract and of the kit', () => {
  const { folder } = elsewhere
  const examples = EXAMPLES.map((name) => elsewhere.copy(`docs/examples/${name}`))
  writeFileSync(
    join(folder, 'pager.mts'),
    `import { defineSink, deliverInOrder, type Message, type Outcome } from 'kubeherald/sink'
import { conformance, type Setup } from 'kubeherald/sink/testkit'
import * as z from 'zod'
export const pager = defineSink({
  apiVersion: 1, type: 'pager', config: z.strictObject({ room: z.string() }), route: z.strictObject({ team: z.string().default('shop') }),
  lane: ({ route }, { room }) => \`\${room}-\${route.team}\`,
  open({ room }, { log }) {
    log.info({ room: room.toUpperCase() }, 'opened')
    const send = async ({ route }: Message<{ team: string }>): Promise<Outcome> => ({ kind: route.team === '' ? 'delivered' : 'delivered' })
    return { deliver: (batch, signal) => deliverInOrder(batch, { concurrency: 1 }, send, signal), async close() {} }
  },
})
const setup: Setup = { start: () => ({ options: { room: 'a' }, received: () => [], stop() {} }) }
export const names: string[] = conformance(pager, setup).map(({ name }) => name)
// @ts-expect-error there is no such kind
export const wrong: Outcome = { kind: 'sent' }
`,
  )
  const sources = examples.flatMap((it) => [join(it, 'index.js'), join(it, 'conformance.test.js')])
  expect(typesOf(folder, ['pager.mts', ...sources])).toBe('')
})

test('the shipped program loads the plug-in of the example', () => {
  const folder = elsewhere.copy('docs/examples/sink-sqlite')
  process.env['EVENTS_DB'] = join(folder, 'events.db')
  const { status, output } = elsewhere.node(
    folder,
    elsewhere.main,
    'check',
    '--offline',
    '--strict',
    '-c',
    'kubeherald.yaml',
  )
  expect({ status, output }).toMatchObject({
    status: 0,
    output: expect.stringContaining('kubeherald.yaml is good'),
  })
})

test('the example keeps the warnings of a cluster', async () => {
  const folder = join(ROOT, 'docs/examples/sink-sqlite')
  using desk = openDesk({ EVENTS_DB: join(elsewhere.folder, 'demo.db') })
  const config = desk.write('kubeherald.yaml', exampleConfig(folder))
  const program = desk.start('demo', '--config', config)
  try {
    const rows = () => {
      if (!existsSync(desk.env['EVENTS_DB']!)) return []
      const database = new Database(desk.env['EVENTS_DB']!, { readonly: true } as never)
      try {
        return database.prepare('SELECT event FROM events').all() as { event: string }[]
      } catch {
        return []
      } finally {
        database.close()
      }
    }
    const [row] = await waitFor(() => (rows().length > 0 ? rows() : undefined), {
      what: 'a row',
      timeoutMs: 45_000,
    })
    expect(JSON.parse(row!.event)).toMatchObject({ specversion: '1.0', data: { rule: 'warnings' } })
    const [, query = ''] = /^sqlite3 \S+ "(.*)"$/m.exec(readFileSync(join(ROOT, PAGE), 'utf8')) ?? []
    const database = new Database(desk.env['EVENTS_DB']!, { readonly: true } as never)
    const [told] = database.prepare(query).all() as object[]
    database.close()
    expect(Object.keys(told!)).toHaveLength(4)
    expect(Object.values(told!).filter((it) => typeof it !== 'string')).toEqual([])
  } finally {
    await program.end('SIGTERM')
  }
})

/** The example's own, with the plug-in named from elsewhere and a free port. */
function exampleConfig(folder: string): string {
  const text = readFileSync(join(folder, 'kubeherald.yaml'), 'utf8')
  return `server: { port: 0 }\n${text.replace('./index.js', join(folder, 'index.js'))}`
}

function typesOf(folder: string, files: readonly string[]): string {
  const compilerOptions = {
    module: 'nodenext',
    target: 'es2024',
    strict: true,
    noEmit: true,
    allowJs: true,
    types: ['node'],
    exactOptionalPropertyTypes: true,
  }
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files }))
  return elsewhere.node(folder, join(ROOT, 'node_modules/typescript/bin/tsc'), '-p', '.').output
}
