import { parseSpelling } from '../kind.ts'
import type { Patterns } from '../schema.ts'

const OF_CONTAINERS =
  /^(image|imagePullPolicy|command|args|env|envFrom|resources|ports|volumeMounts|(liveness|readiness|startup)Probe)(?![\w-])/

const POD = 'spec.containers.*'
const TEMPLATE = `spec.template.${POD}`

/** Where the containers of a kind stand, by the words for it. */
const CONTAINERS: Readonly<Record<string, string>> = {
  ...{ pod: POD, pods: POD, po: POD },
  ...{ deployment: TEMPLATE, deployments: TEMPLATE, deploy: TEMPLATE },
  ...{ statefulset: TEMPLATE, statefulsets: TEMPLATE, sts: TEMPLATE },
  ...{ daemonset: TEMPLATE, daemonsets: TEMPLATE, ds: TEMPLATE },
  ...{ replicaset: TEMPLATE, replicasets: TEMPLATE, rs: TEMPLATE },
  ...{ job: TEMPLATE, jobs: TEMPLATE },
  ...{ cronjob: `spec.jobTemplate.${TEMPLATE}`, cronjobs: `spec.jobTemplate.${TEMPLATE}` },
}

/** `spec.**.image` in full, where the kind tells what lies between; undefined where nobody knows. */
export function withoutDoubleStar(text: string, kind: Patterns | undefined): string | undefined {
  const [, field] = /^[\w.]*\*\*\.([\w.-]+)$/.exec(text) ?? []
  const word = typeof kind === 'string' ? parseSpelling(kind)?.word : undefined
  if (field === undefined || word === undefined || !OF_CONTAINERS.test(field)) return undefined
  return Object.hasOwn(CONTAINERS, word) ? `${CONTAINERS[word]}.${field}` : undefined
}
