// The menus of the site. Every page is in a menu: a test compares them with the files.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from './pages.mjs'

const page = (text, link) => ({ text, link: `/${link}` })
const group = (text, items, collapsed) => ({ text, items, ...(collapsed !== undefined && { collapsed }) })

export const SIDEBAR = [
  group('Begin', [
    page('Quick start', 'quick-start'),
    page('Concepts', 'concepts'),
    page('Comparison', 'comparison'),
    page('FAQ', 'faq'),
  ]),
  group('Guides', [
    page('First alert in Slack', 'guides/slack'),
    page('Crash loops', 'guides/crash-loops'),
    page('GitOps audit log in Kafka', 'guides/audit-to-kafka'),
    page('Maintenance windows', 'guides/maintenance-windows'),
    page('Troubleshooting', 'troubleshooting'),
  ]),
  group('Recipes', [
    page('All recipes', 'recipes/'),
    page('Log stores, pagers, chats, mail', 'recipes/services'),
    page('Messages and channels', 'recipes/messages'),
    page('Alerts', 'recipes/alerts'),
    page('Operation', 'recipes/operation'),
    page('Rules from practice', 'examples/rules/'),
  ]),
  group('Migration', [
    page('Steps', 'migrate/'),
    page('Conversion', 'import'),
    page('kubernetes-event-exporter', 'migrate/kubernetes-event-exporter'),
    page('kubewatch', 'migrate/kubewatch'),
    page('Botkube', 'migrate/botkube'),
  ]),
  group('Reference', [
    page('Configuration', 'configuration'),
    group(
      'Rules',
      [page('Overview', 'rules/'), ...ruleItems(), page('Each rule of each set', 'rules/rule-sets')],
      true,
    ),
    page('Events for services', 'events'),
    page('Commands', 'commands'),
    page('API', 'api'),
    page('Metrics', 'metrics'),
    page('Library', 'library'),
  ]),
  group('Sinks', [
    page('Overview, and your own', 'sinks/'),
    ...sinkItems(),
    page('Services', 'sinks/webhook/presets/'),
    page('Example of a plug-in', 'examples/sink-sqlite/'),
  ]),
  group('Operation', [
    page('Deployment', 'deploy/'),
    page('Helm chart', 'deploy/helm/kubeherald/'),
    page('kustomize', 'deploy/kustomize/'),
    page('Image and Compose', 'deploy/image/'),
    page('Operating', 'operating'),
    page('The page', 'page'),
    page('Security', 'security'),
    page('Changelog', 'changelog'),
  ]),
]

export const NAVIGATION = [
  page('Quick start', 'quick-start'),
  page('Recipes', 'recipes/'),
  page('Reference', 'configuration'),
  { text: 'GitHub', link: 'https://github.com/kubeherald/kubeherald' },
]

/** The front matter of the first page, whose text is docs/README.md. */
export const HOME = {
  layout: 'home',
  hero: {
    name: 'kubeherald',
    text: 'Kubernetes events, delivered',
    tagline:
      'Forwards changes and Events to Slack, Kafka, log stores and webhooks, by rules in YAML. Nothing is lost.',
    actions: [
      { theme: 'brand', text: 'Quick start', link: '/quick-start' },
      { theme: 'alt', text: 'Concepts', link: '/concepts' },
      { theme: 'alt', text: 'Recipes', link: '/recipes/' },
    ],
  },
  features: [
    {
      title: 'Nothing is lost',
      details: 'Also during downtime of any part. A ledger counts every change, and balances.',
    },
    {
      title: 'Rules you can prove',
      details: 'check, explain, test, tail and backtest show what would be sent, before it is.',
    },
    {
      title: 'Quiet by design',
      details: 'Throttle, digest, quiet hours, minimal duration, and a message when it is over.',
    },
    {
      title: 'Small',
      details: 'One process of about 120 MB and a Redis, for one node or tens of thousands of pods.',
    },
  ],
}

/** The pages of docs/rules by their titles: `labels, annotations`. */
function ruleItems() {
  return readdirSync(join(ROOT, 'docs/rules'))
    .filter((name) => name !== 'README.md')
    .toSorted()
    .map((name) => page(titleOf(`docs/rules/${name}`), `rules/${name.replace(/\.md$/, '')}`))
}

/** The sink types that have a page. */
function sinkItems() {
  return readdirSync(join(ROOT, 'sinks'), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => page(name, `sinks/${name}/`))
}

function titleOf(file) {
  return /^# (.*)$/m.exec(readFileSync(join(ROOT, file), 'utf8'))?.[1] ?? file
}
