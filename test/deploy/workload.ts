import type { Manifest } from './render.ts'

export interface PodManifest extends Manifest {
  spec: any
}

/** The pods that controllers would make of these manifests; `replicas` of each Deployment as it says. */
export function podsOf(manifests: readonly Manifest[]): PodManifest[] {
  return manifests.flatMap((manifest) => {
    const { kind, metadata, spec } = manifest
    if (kind === 'Pod') return [manifest as PodManifest]
    if (kind !== 'Deployment' && kind !== 'StatefulSet') return []
    return Array.from({ length: spec.replicas ?? 1 }, (_, i) => ({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: {
        ...spec.template.metadata,
        name: `${metadata.name}-${i}`,
        ...(metadata.namespace !== undefined && { namespace: metadata.namespace }),
      },
      spec: {
        ...spec.template.spec,
        volumes: [
          ...spec.template.spec.volumes,
          ...claims(spec.volumeClaimTemplates ?? [], metadata.name, i),
        ],
      },
    }))
  })
}

function claims(templates: readonly Manifest[], workload: string, i: number): object[] {
  return templates.map(({ metadata: { name } }) => ({
    name,
    persistentVolumeClaim: { claimName: `${name}-${workload}-${i}` },
  }))
}
