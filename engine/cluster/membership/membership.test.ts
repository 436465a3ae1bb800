import { readFileSync, writeFileSync } from 'node:fs';

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import type { NodeId } from '../../base/ids.ts';
import { Detector, detectorDefaults } from './detector.ts';
import { describeMoves, isLegalMove, PeerNews, peerStates, stateCode } from './states.ts';

describe('peer states', () => {
  it('change as the golden file says, and never from a state to itself', () => {
    const path = new URL('testdata/states.txt', import.meta.url);
    const text = `${describeMoves()}\n`;
    if (process.env['LOCKSTEP_GOLDEN'] === 'write') writeFileSync(path, text);
    expect(text).toBe(readFileSync(path, 'utf8'));
    for (const state of peerStates) expect(isLegalMove(state, state)).toBe(false);
  });

  it('have their documented codes', () => {
    expect(peerStates.map(stateCode)).toEqual([0, 1, 2, 3, 4, 5, 6]);
    expect(stateCode('DOWN')).toBe(4);
  });

  it('are logged as warnings when a peer goes DOWN without an announcement, and when it returns', () => {
    const news = new PeerNews();
    const node = 'n2' as NodeId;
    expect(news.level(node, 'NORMAL', 'DOWN', true)).toBe('info');
    expect(news.level(node, 'DOWN', 'RESET', false)).toBe('info');
    expect(news.level(node, 'NORMAL', 'DOWN', false)).toBe('warn');
    expect(news.level(node, 'DOWN', 'RESET', false)).toBe('warn');
    expect(news.level(node, 'RESET', 'NORMAL', false)).toBe('info');
  });
});

describe('the failure detector', () => {
  it('reaches phi 8 after 18.4 seconds of silence at one heartbeat a second', () => {
    const detector = new Detector(detectorDefaults);
    for (let second = 0; second <= 200; second++) detector.heartbeat(second * 1_000_000);
    expect(detector.milliPhi(200_000_000 + 18_420_000)).toBe(7999);
    expect(detector.suspects(200_000_000 + 18_420_000)).toBe(false);
    expect(detector.suspects(200_000_000 + 18_430_000)).toBe(true);
  });

  it('reports phi 0 until the second heartbeat, and forgets everything on reset', () => {
    const detector = new Detector(detectorDefaults);
    expect(detector.milliPhi(5)).toBe(0);
    detector.heartbeat(10);
    expect(detector.milliPhi(1e12)).toBe(0);
    detector.heartbeat(20);
    expect(detector.milliPhi(1e12)).toBeGreaterThan(0);
    detector.reset();
    expect(detector.milliPhi(1e12)).toBe(0);
  });

  it('counts the time per heartbeat when several arrive at once', () => {
    const [single, bundled] = [new Detector(detectorDefaults), new Detector(detectorDefaults)];
    for (let second = 0; second <= 60; second++) single.heartbeat(second * 1_000_000);
    for (let second = 0; second <= 60; second += 3) bundled.heartbeat(second * 1_000_000, 3);
    expect(bundled.milliPhi(70_000_000)).toBe(single.milliPhi(70_000_000));
  });

  it('counts no interval for more than its limit, and none for a silence that was judged', () => {
    const detector = new Detector(detectorDefaults);
    for (const second of [0, 1, 2, 100]) detector.heartbeat(second * 1_000_000);
    const mean = (1 + 1 + 5 + 7 * 1) / 10; // seven of ten have not been seen
    expect(detector.milliPhi(110_000_000)).toBe(Math.floor(10_000 / mean / Math.LN10));
    detector.resume(200_000_000);
    expect(detector.milliPhi(210_000_000)).toBe(Math.floor(10_000 / mean / Math.LN10));
  });

  it('judges a peer that dies early by a mean that includes assumed intervals', () => {
    const detector = new Detector(detectorDefaults);
    for (const second of [0, 5, 9]) detector.heartbeat(second * 1_000_000);
    expect(detector.suspects((9 + 31) * 1_000_000)).toBe(false);
    expect(detector.suspects((9 + 32) * 1_000_000)).toBe(true); // 83 s by the mean of the two
  });

  it('never falls in silence, is near 0 after a heartbeat, and follows the formula over the window', () => {
    const intervals = fc.array(fc.integer({ min: 0, max: 5_000_000 }), { minLength: 1, maxLength: 250 });
    fc.assert(
      fc.property(intervals, fc.nat(60_000_000), fc.nat(60_000_000), (gaps, silence, more) => {
        const detector = new Detector(detectorDefaults);
        let now = 1000;
        detector.heartbeat(now);
        for (const gap of gaps) detector.heartbeat((now += gap));
        expect(detector.milliPhi(now)).toBe(0);
        expect(detector.milliPhi(now + silence + more)).toBeGreaterThanOrEqual(
          detector.milliPhi(now + silence),
        );
        const window = gaps.slice(-100).map((gap) => Math.min(gap, 5_000_000));
        const assumed = Math.max(0, 10 - window.length);
        const sum = window.reduce((total, gap) => total + gap, assumed * 1_000_000);
        const mean = Math.max(1_000_000, sum / (window.length + assumed));
        const phi = (silence / mean / Math.LN10) * 1000;
        expect(Math.abs(detector.milliPhi(now + silence) - phi)).toBeLessThan(1.5);
      }),
    );
  });
});
