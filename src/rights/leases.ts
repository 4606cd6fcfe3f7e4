/** What leases need, in their namespace and nowhere else. */
export const LEASE_RIGHTS = {
  group: 'coordination.k8s.io',
  resource: 'leases',
  verbs: ['get', 'list', 'create', 'update', 'delete'],
} as const
