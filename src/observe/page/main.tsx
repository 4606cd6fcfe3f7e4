import './style.css'
import './views.css'
import { render } from 'preact'
import { applyTheme } from './data/theme.ts'
import { Shell } from './shell.tsx'

applyTheme()
const place = document.getElementById('app')
if (place) {
  place.textContent = ''
  render(<Shell />, place)
}
