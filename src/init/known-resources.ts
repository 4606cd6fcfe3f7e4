/** Custom resources that many clusters have, and what about them is worth a message. */
export interface KnownResource {
  /** `plural.group` */
  resource: string
  kind: string
  /** What it is called in a comment. */
  title: string
  rule: string
  /** Lines of the rule between its name and `to`. */
  conditions: readonly string[]
}

function notReady(
  resource: string,
  kind: string,
  title: string,
  rule: string,
  afterwards = '5m',
): KnownResource {
  return {
    resource,
    kind,
    title,
    rule,
    conditions: [`condition: { type: Ready, becomes: "False", for: ${afterwards} }`, 'resolve: true'],
  }
}

function degraded(resource: string, kind: string, title: string, rule: string, path: string): KnownResource {
  return {
    resource,
    kind,
    title,
    rule,
    conditions: [`to-state: { ${path}: Degraded }`, 'for: 1m', 'resolve: true'],
  }
}

export const KNOWN_RESOURCES: readonly KnownResource[] = [
  notReady('certificates.cert-manager.io', 'Certificate', 'cert-manager', 'certificate-not-ready', '10m'),
  notReady('externalsecrets.external-secrets.io', 'ExternalSecret', 'External Secrets', 'secret-not-synced'),
  notReady('kustomizations.kustomize.toolkit.fluxcd.io', 'Kustomization', 'Flux', 'kustomization-not-ready'),
  notReady('helmreleases.helm.toolkit.fluxcd.io', 'HelmRelease', 'Flux', 'helm-release-not-ready'),
  degraded(
    'applications.argoproj.io',
    'Application',
    'Argo CD',
    'application-degraded',
    'status.health.status',
  ),
  degraded('rollouts.argoproj.io', 'Rollout', 'Argo Rollouts', 'rollout-degraded', 'status.phase'),
  {
    resource: 'workflows.argoproj.io',
    kind: 'Workflow',
    title: 'Argo Workflows',
    rule: 'workflow-failed',
    conditions: ['to-state: { status.phase: [Failed, Error] }'],
  },
  notReady('clusters.postgresql.cnpg.io', 'Cluster', 'CloudNativePG', 'database-not-ready'),
  {
    resource: 'kafkas.kafka.strimzi.io',
    kind: 'Kafka',
    title: 'Strimzi',
    rule: 'kafka-not-ready',
    // Strimzi has no Ready that is False: it has another condition instead.
    conditions: ['condition: { type: NotReady, becomes: "True", for: 5m }', 'resolve: true'],
  },
  notReady('scaledobjects.keda.sh', 'ScaledObject', 'KEDA', 'scaler-not-ready'),
]
