import { useSignalEffect } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { Link, Route, Switch, useLocation } from 'wouter-preact'
import { counted } from '../../text/quantities.ts'
import type { Access, Overview } from './data/contract.ts'
import { isReachable, tokenWanted } from './data/request.ts'
import { useResource } from './data/resource.ts'
import { access, historyFromMs, notice, overview, overviewError } from './data/state.ts'
import { nextTheme, theme } from './data/theme.ts'
import { decodedPart } from './links.ts'
import { Mark } from './parts/mark.tsx'
import { Empty, Heading } from './parts/states.tsx'
import { Time } from './parts/time.tsx'
import { TokenForm } from './parts/token-form.tsx'
import { SearchBox } from './search-box.tsx'
import { inOneLine } from './shown.ts'
import { DeadLettersView } from './views/dead-letters.tsx'
import { EventView } from './views/event.tsx'
import { LedgerView } from './views/ledger.tsx'
import { LiveView } from './views/live.tsx'
import { HomeView } from './views/overview.tsx'
import { RulesView } from './views/rules.tsx'
import { SilencesView } from './views/silences.tsx'
import { SinkView } from './views/sink.tsx'
import { SinksView } from './views/sinks.tsx'
import { StoryView } from './views/story.tsx'
import { WatchesView } from './views/watches.tsx'

const ACCESS_MS = 30_000
const OVERVIEW_MS = 3_000

/** What is around every view: search, navigation, state, notices. */
export function Shell() {
  const own = useResource<Access>('/access', ACCESS_MS)
  const state = useResource<Overview>('/overview', OVERVIEW_MS)
  useEffect(() => {
    access.value = own.data
  }, [own.data])
  useEffect(() => {
    overview.value = state.data
    overviewError.value = state.error
  }, [state.data, state.error])
  const main = useRef<HTMLElement>(null)
  useFocusOnMove(main)
  return (
    <>
      <a class="skip" href="#main">
        Skip to the content
      </a>
      <header>
        <div class="bar">
          <Link href="/" class="brand">
            kubeherald
          </Link>
          <span class="cluster">{inOneLine(overview.value?.cluster ?? access.value?.cluster ?? '', 60)}</span>
          <SearchBox />
          <State />
          <ThemeButton />
        </div>
        <Navigation />
      </header>
      <main id="main" ref={main} tabIndex={-1}>
        {tokenWanted.value ? <TokenForm /> : <Views />}
      </main>
      <Notice />
      <Footer />
    </>
  )
}

function Views() {
  return (
    <Switch>
      <Route path="/" component={HomeView} />
      <Route path="/objects/:kind/:namespace/:name">
        {({ kind, namespace, name }) => (
          <StoryView
            kind={decodedPart(kind)}
            namespace={decodedPart(namespace)}
            name={decodedPart(name)}
            key={`${kind}/${namespace}/${name}`}
          />
        )}
      </Route>
      <Route path="/events/:id">{(it) => <EventView id={decodedPart(it.id)} />}</Route>
      <Route path="/live" component={LiveView} />
      <Route path="/sinks" component={SinksView} />
      <Route path="/sinks/:name">{(it) => <SinkView name={decodedPart(it.name)} key={it.name} />}</Route>
      <Route path="/dead-letters" component={DeadLettersView} />
      <Route path="/rules" component={RulesView} />
      <Route path="/watches" component={WatchesView} />
      <Route path="/silences" component={SilencesView} />
      <Route path="/ledger" component={LedgerView} />
      <Route>
        <Heading title="No such page" />
        <Empty title="This address leads nowhere.">
          Search for an object above, or go to the <Link href="/">overview</Link>.
        </Empty>
      </Route>
    </Switch>
  )
}

/** Another view begins at its top, and a screen reader with its content. */
function useFocusOnMove(main: { current: HTMLElement | null }) {
  const [path] = useLocation()
  const before = useRef(path)
  useEffect(() => {
    if (before.current === path) return
    before.current = path
    scrollTo(0, 0)
    if (document.activeElement?.id !== 'search') main.current?.focus({ preventScroll: true })
  }, [path])
}

function Navigation() {
  const [path] = useLocation()
  const { deadLetters = 0, silences = 0, sinks, watches } = overview.value ?? {}
  const views: [href: string, title: string, badge?: string][] = [
    ['/', 'Overview'],
    ['/live', 'Live'],
    ['/sinks', 'Sinks', sinks?.failing ? `${sinks.failing} failing` : ''],
    ['/dead-letters', 'Dead letters', deadLetters ? String(deadLetters) : ''],
    ['/rules', 'Rules'],
    ['/watches', 'Watches', watches?.failing ? `${watches.failing} failing` : ''],
    ['/silences', 'Silences', silences ? String(silences) : ''],
    ['/ledger', 'Ledger', overview.value?.balanced === false ? 'off' : ''],
  ]
  const bar = useRef<HTMLElement>(null)
  // On a narrow screen it scrolls.
  useEffect(() => {
    bar.current?.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'nearest' })
  }, [path])
  const isCurrent = (href: string) => path === href || (href !== '/' && path.startsWith(`${href}/`))
  return (
    <nav aria-label="Views" ref={bar}>
      {views.map(([href, title, badge]) => (
        <Link key={href} href={href} {...(isCurrent(href) && { 'aria-current': 'page' as const })}>
          {title}
          {badge && <span class="badge">{badge}</span>}
        </Link>
      ))}
    </nav>
  )
}

function State() {
  if (!isReachable.value)
    return (
      <span class="state" role="status">
        <Mark status="bad">no answer</Mark>
      </span>
    )
  const [state, error] = [overview.value, overviewError.value]
  if (tokenWanted.value || error?.status === 403) return <span class="state" />
  if (error)
    return (
      <span class="state" role="status">
        <Mark status="bad">state unknown</Mark>
      </span>
    )
  if (!state) return <span class="state" />
  return (
    <Link href="/" class="state">
      {state.troubles.length > 0 ? (
        <Mark status="warn">{counted(state.troubles.length, 'trouble')}</Mark>
      ) : (
        <Mark status="good">all well</Mark>
      )}
    </Link>
  )
}

function ThemeButton() {
  return (
    <button type="button" class="theme" onClick={nextTheme} title="Colours: automatic, light, dark">
      <span class="wide">Colours: </span>
      {theme.value}
    </button>
  )
}

function Notice() {
  const box = useRef<HTMLDivElement>(null)
  useSignalEffect(() => {
    box.current?.classList.toggle('shown', notice.value !== undefined)
  })
  return (
    <div class="notice" role="status" ref={box}>
      {notice.value && <Mark status={notice.value.isError ? 'bad' : 'good'}>{notice.value.text}</Mark>}
    </div>
  )
}

function Footer() {
  const [state, own] = [overview.value, access.value]
  const known = state ?? own
  const journal = state?.journalFromMs ?? own?.journalFromMs
  const history = historyFromMs.value
  return (
    <footer>
      {known && (
        <>
          <span>kubeherald {known.version}</span>
          <span>
            {history === undefined ? 'the history is empty' : 'history begins '}
            {history !== undefined && <Time at={history} />}
          </span>
          <span>
            {journal === undefined
              ? 'the journal is off or empty: without it changes and reasons of rules are not kept'
              : 'journal begins '}
            {journal !== undefined && <Time at={journal} />}
          </span>
        </>
      )}
      <span>
        {own && `access: ${own.name}, ${own.role}`}
        {own?.namespaces && ` in ${own.namespaces.join(', ')}`}
      </span>
      <span class="keys">
        <kbd>/</kbd> search
      </span>
    </footer>
  )
}
