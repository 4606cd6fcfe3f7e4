import { counter } from './metric-types.ts'

/** Why requests to the API and the page are refused. */
export const REFUSAL_REASONS = [
  'no-token',
  'wrong-token',
  'role',
  'namespaces',
  'host',
  'origin',
  'token-in-url',
  'not-local',
] as const
export type RefusalReason = (typeof REFUSAL_REASONS)[number]

/** Requests to the API and the page. */
export const serverMetrics = {
  requestsRefused: counter(
    'requests_refused_total',
    'Requests to the API and the page that were refused, by reason.',
    ['reason'],
    {
      details:
        'For `no-token` the proxy named no user either; `role` and `namespaces` are those of the token or user; `not-local`: without tokens and proxy, a request from elsewhere or through a proxy',
    },
  ),
}
