/** What sharing the watches by Leases does with them. */
export const LEASE_VERBS = ['get', 'list', 'create', 'update', 'delete'] as const
