import { Document, type Scalar, type YAMLMap, type YAMLSeq } from 'yaml'
import { printable } from '../../text/printable.ts'
import type { Permission, Verb } from './permissions.ts'

interface ManifestOptions {
  /** Name of the roles and bindings. */
  name: string
  serviceAccount: { namespace: string; name: string }
  /** Comment lines at the top. */
  heading: readonly string[]
}

const GROUP = 'rbac.authorization.k8s.io'

/** The manifests that give these permissions to a service account, and it no others: for `kubectl apply`. */
export function toManifests({ cluster, namespaces }: RuleSet, options: ManifestOptions): string {
  const { name, serviceAccount, heading } = options
  const head = (kind: string, namespace?: string) => ({
    apiVersion: `${GROUP}/v1`,
    kind,
    metadata: metadataOf(name, namespace),
  })
  const grant = (kind: 'ClusterRole' | 'Role', rules: readonly Rule[], namespace?: string) => [
    withRules({ ...head(kind, namespace), rules: rules.map(policyRule) }, ['rules'], rules),
    toDocument({
      ...head(`${kind}Binding`, namespace),
      roleRef: { apiGroup: GROUP, kind, name },
      subjects: [{ kind: 'ServiceAccount', ...serviceAccount }],
    }),
  ]
  const account = toDocument({
    apiVersion: 'v1',
    kind: 'ServiceAccount',
    metadata: metadataOf(serviceAccount.name, serviceAccount.namespace),
    automountServiceAccountToken: false,
  })
  const automount = account.get('automountServiceAccountToken', true) as Scalar
  automount.comment = ' the pod asks for its token itself, so no other one gets it by accident'
  const documents = [
    account,
    ...(cluster.length > 0 ? grant('ClusterRole', cluster) : []),
    ...[...namespaces].flatMap(([namespace, rules]) => grant('Role', rules, namespace)),
  ]
  return asComment(heading) + documents.map(write).join('---\n')
}

/** The same rules as values of the Helm chart, which makes the roles and bindings of them. */
export function toValues({ cluster, namespaces }: RuleSet, heading: readonly string[]): string {
  const document = toDocument({
    rbac: {
      clusterRules: cluster.map(policyRule),
      namespaceRules: Object.fromEntries([...namespaces].map(([it, rules]) => [it, rules.map(policyRule)])),
    },
  })
  explain(document, ['rbac', 'clusterRules'], cluster)
  for (const [namespace, rules] of namespaces) explain(document, ['rbac', 'namespaceRules', namespace], rules)
  return asComment(heading) + write(document)
}

function metadataOf(name: string, namespace: string | undefined): object {
  const labels = { 'app.kubernetes.io/name': 'kubeherald' }
  return { name, ...(namespace !== undefined && { namespace }), labels }
}

function policyRule({ apiGroup, resource, resourceNames, verbs }: Rule): object {
  return {
    apiGroups: [apiGroup],
    resources: [resource],
    ...(resourceNames.length > 0 && { resourceNames }),
    verbs,
  }
}

function withRules(content: object, path: readonly string[], rules: readonly Rule[]): Document {
  const document = toDocument(content)
  explain(document, path, rules)
  return document
}

/** Adds a comment above each rule with its reasons. */
function explain(document: Document, path: readonly string[], rules: readonly Rule[]): void {
  const list = document.getIn(path) as YAMLSeq<YAMLMap>
  for (const [i, { reasons }] of rules.entries()) {
    const rule = list.items[i]!
    rule.commentBefore = reasons.map((reason) => ` ${printable(reason)}`).join('\n')
    for (const { value } of rule.items) (value as YAMLSeq).flow = true
  }
}

/** Quoted so that readers of YAML 1.1 take `on`, `1e3` and `12:30` for the texts that they are. */
function toDocument(content: object): Document {
  return new Document(content, { version: '1.1', aliasDuplicateObjects: false })
}

function write(document: Document): string {
  return document.toString({ lineWidth: 0, flowCollectionPadding: false, directives: false })
}

function asComment(lines: readonly string[]): string {
  return lines.map((line) => `# ${printable(line)}\n`).join('')
}

/** A PolicyRule of RBAC, and what needs it. */
interface Rule {
  apiGroup: string
  resource: string
  resourceNames: readonly string[]
  verbs: readonly Verb[]
  /** One line for each that needs it. */
  reasons: readonly string[]
}

/** What a ClusterRole holds, and a Role in each namespace. */
interface RuleSet {
  cluster: readonly Rule[]
  namespaces: ReadonlyMap<string, readonly Rule[]>
}

/** Rules of sorted permissions: namespaced wherever the permission is. */
export function rulesOf(permissions: readonly Permission[]): RuleSet {
  const scopes = Map.groupBy(permissions, ({ namespace }) => namespace)
  const cluster = rulesIn(scopes.get(undefined) ?? [])
  const namespaces = new Map<string, readonly Rule[]>()
  for (const [namespace, inside] of scopes)
    if (namespace !== undefined) namespaces.set(namespace, rulesIn(inside))
  return { cluster, namespaces }
}

function rulesIn(permissions: readonly Permission[]): Rule[] {
  const objects = Map.groupBy(permissions, ({ group, resource, name }) =>
    JSON.stringify([group, resource, name]),
  )
  const rules = [...objects.values()].map((same): Rule => {
    const { group: apiGroup, resource, name } = same[0]!
    return {
      apiGroup,
      resource,
      resourceNames: name === undefined ? [] : [name],
      verbs: same.map(({ verb }) => verb),
      reasons: reasonsOf(same),
    }
  })
  // Rules for single objects of one resource differ in nothing but the names.
  const alike = Map.groupBy(rules, ({ apiGroup, resource, verbs, resourceNames }) =>
    JSON.stringify([apiGroup, resource, verbs, resourceNames.length]),
  )
  return [...alike.values()].map((some) => ({
    ...some[0]!,
    resourceNames: some.flatMap(({ resourceNames }) => resourceNames),
    reasons: [...new Set(some.flatMap(({ reasons }) => reasons))],
  }))
}

function reasonsOf(permissions: readonly Permission[]): string[] {
  return [...new Set(permissions.flatMap(({ needs }) => needs.map(({ what }) => what)))]
}
