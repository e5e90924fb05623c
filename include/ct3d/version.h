/* SPDX-License-Identifier: MIT */
#ifndef CT3D_VERSION_H
#define CT3D_VERSION_H

/** @file version.h
 *  The one place where the version stands; the build reads it from here. */

#define CT3D_VERSION_MAJOR 0
#define CT3D_VERSION_MINOR 1
#define CT3D_VERSION_PATCH 0

/** The version that a program is compiled against, comparable with ct3d_version(). */
#define CT3D_VERSION (CT3D_VERSION_MAJOR * 10000 + CT3D_VERSION_MINOR * 100 + CT3D_VERSION_PATCH)

#endif
