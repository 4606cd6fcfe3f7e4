import { accepted, type Bench, messageOfError, validated } from './bench.ts'
import type { CheckBody } from './check.ts'
import { expect, skip } from './fault.ts'
import { messageOf } from './messages.ts'

const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/
const RUBBISH: readonly unknown[] = [undefined, null, 42, 'text', true, [], () => 0]

/** What a sink type says of itself. */
export const typeChecks: Readonly<Record<string, CheckBody>> = {
  'the type is of this contract'({ type }) {
    expect(type.apiVersion === 1, `apiVersion is ${String(type.apiVersion)}, not 1`)
    expect(
      NAME.test(type.type),
      `type ${JSON.stringify(type.type)} is no name: letters, digits, ".", "_", "-"`,
    )
    expect(typeof type.open === 'function', 'open is no function')
    const { maxBatch = 1 } = type
    expect(Number.isInteger(maxBatch) && maxBatch > 0, `maxBatch is ${maxBatch}, not a whole number from 1`)
  },

  'config is a Standard Schema that refuses rubbish'({ type, target }) {
    return refusesRubbish(type.config, 'config', target.options)
  },

  'config refuses keys that it does not know'({ type, target }) {
    return refusesUnknownKey(type.config, 'config', target.options)
  },

  'route is a Standard Schema that accepts {} and refuses rubbish': async (bench) => {
    const { route } = bench.type
    if (!route) skip('the type has no route')
    await accepted(route, {}, 'route', '{}')
    await refusesRubbish(route, 'route', {})
    await refusesUnknownKey(route, 'route', {})
  },

  'the lane of an object stays the same': async (bench) => {
    const { lane } = bench.type
    if (!lane) skip('the type has no lane')
    const config = await accepted(bench.type.config, bench.target.options, 'config', 'the options')
    const route = await bench.route()
    for (const name of ['web', 'api', '<!channel>\u0000\ud800', '']) {
      const parts = { name, uid: `uid-of-${name.length}`, route }
      const lanes = ['ADDED', 'MODIFIED', 'DELETED'].flatMap((type, i) => {
        const message = messageOf({ ...parts, type: type as 'ADDED', version: String(i) }, bench.type)
        return [bench.type.lane?.(message, config), bench.type.lane?.(message, config)]
      })
      expect(
        lanes.every((it) => typeof it === 'string' && it !== '') && new Set(lanes).size === 1,
        () => `deliveries of one object to one target got the lanes ${JSON.stringify([...new Set(lanes)])}`,
      )
    }
  },

  'escape gives text for any text': ({ type }) => {
    if (!type.escape) skip('the type has no escape')
    for (const text of ['', 'plain', '<&>*_~`|\\[]()#!"\'', '\ud800\u0000\u202e', 'x'.repeat(1_000_000)])
      expect(typeof type.escape(text) === 'string', 'escape gave no text')
  },
}

async function refusesRubbish(schema: Bench['type']['config'], part: string, options: object): Promise<void> {
  const standard = schema?.['~standard']
  expect(typeof standard?.validate === 'function', `${part} is no Standard Schema: it has no "~standard"`)
  expect(
    standard.version === 1,
    `${part} is of version ${String(standard.version)} of Standard Schema, not 1`,
  )
  for (const value of RUBBISH) {
    const { issues } = await validatedSafely(schema, part, value)
    const isNothing = value === undefined || value === null
    expect(
      isNothing || (issues?.length ?? 0) > 0,
      `${part} accepts ${String(JSON.stringify(value) ?? value)}`,
    )
  }
  const keys = Object.keys(options)
  for (const key of keys) {
    const { issues } = await validatedSafely(schema, part, { ...options, [key]: () => 0 })
    if (!issues) continue
    const steps = issues.map(({ path = [] }) => (typeof path[0] === 'object' ? path[0].key : path[0]))
    expect(
      steps.includes(key),
      `${part} refuses a wrong "${key}" with an issue whose path does not lead to it`,
    )
  }
}

async function refusesUnknownKey(
  schema: Bench['type']['config'],
  part: string,
  options: object,
): Promise<void> {
  const { issues } = await validatedSafely(schema, part, { ...options, noSuchOptionOfAnySink: 1 })
  expect(
    (issues?.length ?? 0) > 0,
    `${part} accepts a key that it cannot know: a misspelt option would do nothing`,
  )
}

async function validatedSafely(schema: Bench['type']['config'], part: string, value: unknown) {
  const result = await validated(schema, value).catch((error: unknown) => {
    expect(false, `${part} threw in place of giving issues: ${messageOfError(error)}`)
  })
  for (const { message } of result?.issues ?? [])
    expect(typeof message === 'string' && message !== '', `${part} gave an issue without a message`)
  return result
}
