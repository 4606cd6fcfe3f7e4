import { Environment } from '@marcbachmann/cel-js'
import type { ClusterEvent } from '../../src/model/event.ts'
import { celPart } from '../../src/rules/cel/part.ts'
import { median, pairs, perSecond } from './pairs.ts'
import { trimmedPod } from './pod.ts'
import type { Row } from './row.ts'

/** Conditions of a team, such that the bare library answers them, too: it takes numbers of JSON for doubles. */
const EXPRESSIONS = [
  'object.status.phase == "Running" && oldObject.status.phase != "Failed"',
  'has(object.metadata.labels.team) && object.metadata.labels.team == "team-3"',
  'object.spec.containers.exists(c, has(c.resources.limits) && c.image.endsWith(":latest"))',
  'object.status.conditions.exists(c, c.type == "Ready" && c.status != "True")',
  'object.metadata.namespace in ["team-1", "team-2"] && object.metadata.name.startsWith("service-")',
  'object.status.containerStatuses.filter(c, !c.ready).size() > 0',
  'object.status.containerStatuses.exists(c, c.restartCount > 5)',
  'object.spec.nodeName.contains("node-7") || object.spec.restartPolicy == "Never"',
]
const PODS = 200
const ROUNDS = 100
const EVALUATIONS = PODS * ROUNDS * EXPRESSIONS.length

/** The same expressions on the same parsed objects; ours as rules ask them: with variables, ints, and work counted. */
export const celRow: Row = {
  name: 'cel',
  title: 'conditions in CEL a second, 8 for each event / the bare library',
  async measure({ pairs: count }) {
    const objects = Array.from({ length: PODS }, (_, i) => Buffer.from(JSON.stringify(trimmedPod(i))))
    const parsed = objects.map((json) => JSON.parse(json.toString()) as Record<string, unknown>)
    const conditions = EXPRESSIONS.map((text) => conditionOf(text))
    const programs = EXPRESSIONS.map((text) => bare.parse(text))
    for (const program of programs) program.check()
    const ours = () =>
      rate(() => {
        for (const [i, object] of parsed.entries()) {
          const event = eventOf(object, objects[i] as Buffer)
          for (const test of conditions) test(event)
        }
      })
    const theirs = () =>
      rate(() => {
        for (const object of parsed) for (const program of programs) program({ object, oldObject: object })
      })
    await ours()
    await theirs()
    const results = await pairs(count, ours, theirs)
    const ratio = median(results.map(({ a, b }) => b / a))
    return {
      ours: perSecond(median(results.map(({ a }) => a))),
      yardstick: perSecond(median(results.map(({ b }) => b))),
      ratio,
      target: '≤ 1.3 × its time',
      met: ratio <= 1.3,
    }
  },
}

const bare = new Environment({ enableOptionalTypes: true })
  .registerVariable('object', 'dyn')
  .registerVariable('oldObject', 'dyn')

function conditionOf(text: string): (event: ClusterEvent) => boolean {
  const part = celPart({ if: text })
  const condition = part.ok ? part.value.conditions[0] : undefined
  if (!condition) throw new Error(`${text}: is faulty`)
  return (event) => condition.test(event)
}

function eventOf(object: Record<string, unknown>, objectJson: Buffer): ClusterEvent {
  return { type: 'MODIFIED', object, objectJson, oldObject: object } as unknown as ClusterEvent
}

async function rate(round: () => void): Promise<number> {
  const started = performance.now()
  for (let i = 0; i < ROUNDS; i++) round()
  return EVALUATIONS / ((performance.now() - started) / 1_000)
}
