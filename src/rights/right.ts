/** What needs a right, in a person's words. */
export interface Need {
  /** `watch[0]: Deployment`, or a feature: `leases`. */
  what: string
  /** Where the configuration asks for it: `kubeherald.yaml:5:5`. */
  place?: string
  /** What does not work without the right. */
  without: string
  /** False when kubeherald works without it, only less well. */
  required: boolean
}

/** One verb on one resource: the smallest thing that RBAC can give or withhold. */
export interface Right {
  /** Undefined: in all namespaces, or of objects that are in none. */
  namespace: string | undefined
  /** '' for the core group. */
  group: string
  /** The plural, as in a path. */
  resource: string
  verb: Verb
  /** This object alone. */
  name?: string
  needs: readonly Need[]
}

export type Verb = (typeof VERBS)[number]

/** In the order in which rules list them. */
export const VERBS = ['get', 'list', 'watch', 'create', 'update', 'delete'] as const
