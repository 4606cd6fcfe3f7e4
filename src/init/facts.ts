/** What a look at a cluster has shown; undefined where it may not be read. */
export interface ClusterFacts {
  /** The cluster's name in the configuration. */
  cluster: string
  /** Such as `v1.36.3`. */
  version?: string
  nodes?: number
  pods?: number
  namespaces?: readonly NamespaceFacts[]
  /** Where the rights end: undefined when all namespaces may be read. */
  onlyNamespace?: string
  /** Kinds that the cluster has, as `plural.group` (`plural` for the core group). */
  resources: ReadonlySet<string>
}

export interface NamespaceFacts {
  name: string
  labels: Readonly<Record<string, string>>
}

/** Namespaces that the cluster needs for itself. */
export function systemNamespaces(namespaces: readonly NamespaceFacts[]): string[] {
  return namespaces.map(({ name }) => name).filter((name) => /^kube-(system|public|node-lease)$/.test(name))
}

const TEAM_KEYS = ['team', 'owner', 'squad', 'app.kubernetes.io/part-of']
const STAGE_KEYS = ['env', 'environment', 'stage', 'tier']

/** The label by which most namespaces say whose they are, with its most frequent values. */
export function teamLabel(namespaces: readonly NamespaceFacts[]): LabelFacts | undefined {
  return mostUsed(namespaces, TEAM_KEYS)
}

/** The label by which most namespaces say whether they are production. */
export function stageLabel(namespaces: readonly NamespaceFacts[]): LabelFacts | undefined {
  const label = mostUsed(namespaces, STAGE_KEYS)
  const production = label?.values.find((value) => /^pro?d/i.test(value))
  return label && production !== undefined ? { key: label.key, values: [production] } : undefined
}

export interface LabelFacts {
  key: string
  /** Most frequent first. */
  values: readonly string[]
}

function mostUsed(namespaces: readonly NamespaceFacts[], keys: readonly string[]): LabelFacts | undefined {
  const [best] = keys
    .map((key) => ({
      key,
      values: namespaces.flatMap(({ labels }) => (Object.hasOwn(labels, key) ? [labels[key] as string] : [])),
    }))
    .filter(({ values }) => values.length > 0)
    .sort((a, b) => b.values.length - a.values.length)
  if (!best) return undefined
  const counts = [...Map.groupBy(best.values, (value) => value)].sort(([, a], [, b]) => b.length - a.length)
  return { key: best.key, values: counts.map(([value]) => value) }
}
