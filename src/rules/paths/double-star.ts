import { parseSpelling } from '../kind.ts'
import type { Patterns } from '../schema.ts'

const OF_CONTAINERS =
  /^(image|imagePullPolicy|command|args|env|envFrom|resources|ports|volumeMounts|(liveness|readiness|startup)Probe)(?![\w-])/

const TEMPLATE = 'spec.template.'

/** What stands before the `spec` of its pods in an object of a kind, by the words for it. */
const TEMPLATES: Readonly<Record<string, string>> = {
  ...{ pod: '', pods: '', po: '' },
  ...{ deployment: TEMPLATE, deployments: TEMPLATE, deploy: TEMPLATE },
  ...{ statefulset: TEMPLATE, statefulsets: TEMPLATE, sts: TEMPLATE },
  ...{ daemonset: TEMPLATE, daemonsets: TEMPLATE, ds: TEMPLATE },
  ...{ replicaset: TEMPLATE, replicasets: TEMPLATE, rs: TEMPLATE },
  ...{ job: TEMPLATE, jobs: TEMPLATE },
  ...{ cronjob: `spec.jobTemplate.${TEMPLATE}`, cronjobs: `spec.jobTemplate.${TEMPLATE}` },
}

/** `spec.template.` for `Deployment`, nothing for `Pod`; undefined for what is not known to have pods. */
export function templateOf(kind: string): string | undefined {
  const word = parseSpelling(kind)?.word
  return word !== undefined && Object.hasOwn(TEMPLATES, word) ? TEMPLATES[word] : undefined
}

/** `spec.**.image` in full, where the kind tells what lies between; undefined where nobody knows. */
export function withoutDoubleStar(text: string, kind: Patterns | undefined): string | undefined {
  const [, field] = /^[\w.]*\*\*\.([\w.-]+)$/.exec(text) ?? []
  const template = typeof kind === 'string' ? templateOf(kind) : undefined
  if (field === undefined || template === undefined || !OF_CONTAINERS.test(field)) return undefined
  return `${template}spec.containers.*.${field}`
}
