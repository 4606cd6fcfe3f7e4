import { Registry } from 'prom-client'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { createSinkMetrics } from '../../src/app/sink-set/contexts.ts'
import type { MetricDefinition } from '../../src/observe/metric-types.ts'
import { createMetrics, METRIC_TABLES } from '../../src/observe/metrics.ts'
import type { SinkType } from '../../src/sink/index.ts'
import { builtInSinks } from '../../src/sink-types.ts'
import { contextOf, optionsOf } from '../sinks/bed.ts'
import { PAGES, textOf } from './documentation.ts'

const PAGE = 'docs/metrics.md'
const REGISTERED = await createMetrics().registry.getMetricsAsJSON()

/** Returns the options of a type's example, with placeholders for its references. */
function exampleOf({ type, example = '', placeholders = {} }: SinkType): object {
  const section = parse(example) as Record<string, unknown>
  expect(section['type'], `the example of ${type}`).toBe(type)
  const options = Object.entries(section).filter(([key]) => key !== 'type')
  return Object.fromEntries(
    options.map(([key, value]) => {
      const text = JSON.stringify(value).replaceAll(/\$\{[^}]*\}/g, placeholders[key] ?? 'http://127.0.0.1:1')
      return [key, JSON.parse(text)]
    }),
  )
}

/** Options with which a type registers more than with its example. */
const MORE: Readonly<Record<string, object>> = {
  slack: {
    apiUrl: 'http://127.0.0.1:1/api/',
    actions: { appToken: 'xapp-kubeherald-placeholder', anyone: true },
  },
}

/** The metrics that the sinks register when they are opened; nothing is delivered. */
async function registeredBySinks() {
  const own = new Registry()
  for (const [name, load] of Object.entries(builtInSinks)) {
    const type = await load()
    const options = await optionsOf(type, { ...exampleOf(type), ...MORE[name] })
    const actions = { of: () => [], acknowledge: neverCalled, silence: neverCalled }
    const sink = await type.open(options, contextOf({ actions, metrics: createSinkMetrics(own, name, 'a') }))
    await sink.close()
  }
  return own.getMetricsAsJSON()
}

async function neverCalled(): Promise<never> {
  throw new Error('nothing is delivered')
}

const OF_SINKS = await registeredBySinks()

const HEAD = '| metric | type | labels | meaning |\n|---|---|---|---|\n'

function rowOf({ name, type, shared, labels, help, details }: MetricDefinition<unknown>): string {
  const kind = type === 'gauge' ? `gauge, ${shared ? 'shared' : 'own'}` : type
  const meaning = details === undefined ? help : `${help} ${details}.`
  const names = labels.map((label) => `\`${label}\``).join(', ')
  return `| \`${name}\` | ${kind} | ${names}${names && ' '}| ${meaning} |\n`
}

test('the tables of the page are those of the definitions', async () => {
  const tables = METRIC_TABLES.map((it) => Object.values<MetricDefinition<unknown>>(it).map(rowOf).join(''))
  const [start, ...parts] = textOf(PAGE).split(HEAD)
  expect(parts).toHaveLength(tables.length)
  const rest = parts.map((it, i) => HEAD + tables[i] + it.replace(/^(\|.*\n)*/, ''))
  await expect([start, ...rest].join('')).toMatchFileSnapshot(`../../${PAGE}`)
})

test('the page describes the metrics that sinks have of their own, with their types', () => {
  const rows = textOf(PAGE).matchAll(/^\| `(kubeherald_\w+)` \| (counter|gauge)[^|]*\| [^|]+ \|$/gm)
  const described = [...rows].map(([, name, type]) => `${name} ${type}`)
  expect(described.toSorted()).toEqual(OF_SINKS.map(({ name, type }) => `${name} ${type}`).toSorted())
})

test.each(PAGES)('%s names no unknown metric', (page) => {
  const named = textOf(page).match(/\b(?:kubeherald|process|nodejs)_[a-z0-9_]+[a-z0-9]\b/g) ?? []
  const known = [...REGISTERED, ...OF_SINKS].map(({ name }) => name)
  const unknown = named.filter((name) => !known.includes(name.replace(/_(bucket|count|sum)$/, '')))
  expect(unknown).toEqual([])
})
