/** A kind that every cluster has, with its short names. */
export interface BuiltInKind {
  kind: string
  plural: string
  group: string
  namespaced: boolean
  shortNames: readonly string[]
}

/** `kubectl api-resources` of Kubernetes 1.36, without what only answers requests: kind plural [short names]. */
const TABLE = {
  namespaced: {
    '': `ConfigMap configmaps cm,Endpoints endpoints ep,Event events ev,LimitRange limitranges limits,
      PersistentVolumeClaim persistentvolumeclaims pvc,Pod pods po,PodTemplate podtemplates,
      ReplicationController replicationcontrollers rc,ResourceQuota resourcequotas quota,Secret secrets,
      Service services svc,ServiceAccount serviceaccounts sa`,
    apps: `ControllerRevision controllerrevisions,DaemonSet daemonsets ds,Deployment deployments deploy,
      ReplicaSet replicasets rs,StatefulSet statefulsets sts`,
    autoscaling: 'HorizontalPodAutoscaler horizontalpodautoscalers hpa',
    batch: 'CronJob cronjobs cj,Job jobs',
    'coordination.k8s.io': 'Lease leases',
    'discovery.k8s.io': 'EndpointSlice endpointslices',
    'events.k8s.io': 'Event events ev',
    'networking.k8s.io': 'Ingress ingresses ing,NetworkPolicy networkpolicies netpol',
    policy: 'PodDisruptionBudget poddisruptionbudgets pdb',
    'rbac.authorization.k8s.io': 'Role roles,RoleBinding rolebindings',
    'resource.k8s.io': 'ResourceClaim resourceclaims,ResourceClaimTemplate resourceclaimtemplates',
    'storage.k8s.io': 'CSIStorageCapacity csistoragecapacities',
  },
  cluster: {
    '': 'Namespace namespaces ns,Node nodes no,PersistentVolume persistentvolumes pv',
    'admissionregistration.k8s.io': `MutatingWebhookConfiguration mutatingwebhookconfigurations,
      ValidatingAdmissionPolicy validatingadmissionpolicies,
      ValidatingAdmissionPolicyBinding validatingadmissionpolicybindings,
      ValidatingWebhookConfiguration validatingwebhookconfigurations`,
    'apiextensions.k8s.io': 'CustomResourceDefinition customresourcedefinitions crd crds',
    'apiregistration.k8s.io': 'APIService apiservices',
    'certificates.k8s.io': 'CertificateSigningRequest certificatesigningrequests csr',
    'flowcontrol.apiserver.k8s.io': `FlowSchema flowschemas,
      PriorityLevelConfiguration prioritylevelconfigurations`,
    'networking.k8s.io': 'IngressClass ingressclasses,IPAddress ipaddresses ip,ServiceCIDR servicecidrs',
    'node.k8s.io': 'RuntimeClass runtimeclasses',
    'rbac.authorization.k8s.io': 'ClusterRole clusterroles,ClusterRoleBinding clusterrolebindings',
    'resource.k8s.io': 'DeviceClass deviceclasses,ResourceSlice resourceslices',
    'scheduling.k8s.io': 'PriorityClass priorityclasses pc',
    'storage.k8s.io': `CSIDriver csidrivers,CSINode csinodes,StorageClass storageclasses sc,
      VolumeAttachment volumeattachments,VolumeAttributesClass volumeattributesclasses vac`,
  },
} as const

export const builtInKinds: readonly BuiltInKind[] = [
  ...rowsOf(TABLE.namespaced, true),
  ...rowsOf(TABLE.cluster, false),
]

function rowsOf(groups: Readonly<Record<string, string>>, namespaced: boolean): BuiltInKind[] {
  return Object.entries(groups).flatMap(([group, rows]) =>
    rows.split(',').map((row) => {
      const [kind = '', plural = '', ...shortNames] = row.trim().split(/\s+/)
      return { kind, plural, group, namespaced, shortNames }
    }),
  )
}
